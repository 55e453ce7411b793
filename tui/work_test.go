package tui

import (
	"strings"
	"testing"
)

// TestWork holds that what several agents do together is found by the commands and the finder,
// and opens into the sessions of its parts.
func TestWork(t *testing.T) {
	t.Parallel()
	reply := map[string]string{
		"GET /v1/reviews": `{"items":[{"id":"v1","template":"security","cwd":"/src/api","state":"completed","verdict":"CONCERNS","summary":"one \u001b[31mhole",
			"agents":[{"agent":"claude","session":"s7","verdict":"PASS"},{"agent":"codex","session":"s8","verdict":"FAIL","summary":"no check"},{"agent":"pi","error":"it died"}],
			"findings":[{"severity":"high","file":"auth.go","line":7,"message":"no check","found_by":["pi","codex"]}]}]}`,
		"GET /v1/races": `{"items":[{"id":"r1","task":"make it fast","state":"finished","kept":"two","racers":[
			{"name":"one","session":"s7","state":"finished","check":"failed","insertions":3,"deletions":1,"files":1,"answer":"done"},{"name":"two","session":"s8","check":"passed","files":2}]}]}`,
		"GET /v1/workflows": `{"items":[{"id":"w1","name":"release","state":"waiting","detail":"tag failed","steps":[
			{"id":"build","agent":"claude","session":"s7","state":"completed"},{"id":"tag","agent":"codex","session":"s8","state":"failed","error":"no tag"},{"id":"tell","state":"pending"}]}]}`,
		"GET /v1/team/agents": `{"items":[{"name":"ann","agent":"claude","state":"idle","session":"s7"},{"name":"bob","agent":"codex","state":"busy","session":"s8","mail":2}]}`,
		"GET /v1/sessions/s8": `{"id":"s8","agent":"codex","title":"the other","state":"idle"}`,
	}
	for name, c := range map[string]struct {
		list, parts []string
		down        int // to what opens s8
	}{
		"reviews":   {[]string{"Reviews", "CONCERNS  security  1 finding  api"}, []string{"Review: security", "PASS  claude", "FAIL  codex  no check", "failed  pi  it died", "high  auth.go:7  no check"}, 3},
		"races":     {[]string{"finished  make it fast  one  two"}, []string{"Race: make it fast", "failed  one  +3 −1 in 1 file  done", "kept  two  +0 −0 in 2 files"}, 1},
		"workflows": {[]string{"waiting  release  1 of 3 steps  tag failed"}, []string{"Workflow: release", "completed  build  claude", "failed  tag  codex  no tag", "pending  tell"}, 1},
		"team":      {[]string{"ann  claude", "bob  codex", "2 messages"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := screenOf(t, 120, 30, "none", nil)
			s := connectedTo(t, m)
			s.reply = reply
			shows := func(all []string) {
				t.Helper()
				for _, want := range all {
					if got := seen(t, m); !strings.Contains(got, want) {
						t.Errorf("%q is not shown:\n%s", want, got)
					}
				}
			}
			perform(m, m.finder("/"+name))
			perform(m, press(m, "enter"))
			shows(c.list)
			if c.parts != nil {
				perform(m, press(m, "enter"))
				shows(c.parts)
			}
			m.overlay.(*picker).at = c.down
			if got, ok := press(m, "enter")().(opened); !ok || got.session.ID != "s8" {
				t.Errorf("%+v was opened", got)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		m := screenOf(t, 120, 30, "none", nil)
		connectedTo(t, m)
		perform(m, m.command("workflows", ""))
		if m.overlay != nil || !strings.Contains(seen(t, m), "No workflow has run") {
			t.Errorf("without any:\n%s", seen(t, m))
		}
		into("")(m)
		if !strings.Contains(seen(t, m), "It has no session yet.") {
			t.Errorf("a part without a session:\n%s", seen(t, m))
		}
	})
}
