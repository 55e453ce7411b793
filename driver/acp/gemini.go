package acp

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret/driver/internal/seat"
)

// geminiMinute is how Gemini CLI writes the time in the names of its files.
const geminiMinute = "2006-01-02T15-04"

// keepGeminiFile moves the file of a session out of the way of its own successor. It is
// named after the minute in which it was begun and the session; a process that loads
// the session begins another one, which in the same minute has the same name, and
// empties it. Files are found by what they hold, so that another minute does no harm.
func keepGeminiFile(env []string, session string, now time.Time) error {
	home := cmp.Or(seat.Lookup(env, "GEMINI_CLI_HOME"), seat.Lookup(env, "HOME"))
	id, _, _ := strings.Cut(session, "-")
	if strings.ContainsAny(id, `/\*?[`) || id == "" {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(home, ".gemini", "tmp", "*", "chats", "session-*-"+id+".json*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		prefix, rest, ok := strings.Cut(strings.TrimPrefix(filepath.Base(path), "session-"), "-"+id)
		minute, err := time.Parse(geminiMinute, prefix)
		if !ok || err != nil || now.Sub(minute) > 2*time.Minute {
			continue
		}
		for i := 5; i < 60; i++ {
			other := filepath.Join(filepath.Dir(path), "session-"+minute.Add(-time.Duration(i)*time.Minute).Format(geminiMinute)+"-"+id+rest)
			if _, err := os.Lstat(other); err == nil {
				continue
			}
			if err := os.Rename(path, other); err != nil {
				return err
			}
			break
		}
	}
	return nil
}
