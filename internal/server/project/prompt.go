package project

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

func promptName(s terret.Session) string { return s.ID + "-system.txt" }

// SavePrompt saves the system prompt of the session's next turn, replacing the previous
// one, and returns the file's path. Unlike the other methods it returns its error: a
// prompt that an agent reads from the file must be there. The path is empty if files
// are turned off.
func (f *Files) SavePrompt(s terret.Session, prompt string) (path string, err error) {
	if f.off {
		return "", nil
	}
	if err := checkID(s); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err = inFolder(s.Cwd, func(dir *os.Root) error {
		prompts, err := subfolder(dir, promptsName, 0o700)
		if err != nil {
			return err
		}
		defer done(prompts)
		return files.SwapIn(prompts, promptName(s), []byte(f.redact.String(prompt)))
	})
	if err != nil {
		return "", terret.Errorf(terret.CodeInternal, "cannot save the system prompt of session %s: %w", s.ID, err)
	}
	return filepath.Join(s.Cwd, folderName, promptsName, promptName(s)), nil
}

// SavedPrompt is the path of the system prompt that was saved last, from the session's
// folder. It is empty if none was saved.
func SavedPrompt(s terret.Session) string {
	file := path.Join(folderName, promptsName, promptName(s))
	if _, err := os.Stat(filepath.Join(s.Cwd, filepath.FromSlash(file))); err != nil {
		return ""
	}
	return file
}

// ShellCommand quotes a command line for a shell. In zsh = begins the path of a program, and
// brackets that match no file are an error.
func ShellCommand(argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = quote(arg)
	}
	return strings.Join(quoted, " ")
}

func quote(s string) string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("-_=./:,@%+", c)
	}
	if s != "" && s[0] != '=' && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
