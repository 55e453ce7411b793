package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// FuzzHear is that no notification breaks the translator, and that a turn ends at most
// once.
func FuzzHear(f *testing.F) {
	for _, file := range []string{"testdata/turns.ndjson", "testdata/control.ndjson"} {
		recording, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(recording[:min(len(recording), 8<<10)])
	}
	f.Add([]byte(`{"method":"item/completed","params":{"item":{"type":"commandExecution"}}}` + "\n" + `{"method":"turn/completed"}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		tr := newTranslator()
		tr.thread = "t"
		tr.begin(terret.Settings{KeepRaw: true, MaxTurns: 2}, time.Time{})
		ends := 0
		count := func(events []terret.Event) {
			for _, ev := range events {
				if ev.Kind().EndsTurn() {
					ends++
				}
				if _, err := ev.Encode(); err != nil {
					t.Error(err)
				}
			}
		}
		started := 0
		for line := range bytes.Lines(lines) {
			var m struct {
				Method string
				Params json.RawMessage
			}
			seat.Decode(line, &m)
			if m.Method == "turn/started" {
				started++
			}
			count(tr.hear(m.Method, m.Params, line, time.Time{}))
		}
		count(tr.abandon(terret.Errorf(terret.CodeProcessFailed, "gone"), time.Time{}))
		if ends < 1 || ends > 1+started {
			t.Errorf("%d turns began, %d ended", 1+started, ends)
		}
	})
}

// FuzzPatch is that no patch breaks what is shown of it.
func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch")
	f.Add("*** Add File: \n*** Move to: b\r\n")
	f.Fuzz(func(_ *testing.T, patch string) { patchDiff(patch) })
}
