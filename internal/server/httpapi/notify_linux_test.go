package httpapi_test

import (
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/notify"
)

// TestNotifyInside holds that an agent answers nothing, also with the token of a message.
func TestNotifyInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	f.channels(channel{"id": "a", "kind": "ntfy", "url": "http://127.0.0.1:1/topic", "private": true, "answers": true})
	p, err := (&notify.Book{Home: f.home}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := f.session()
	f.prompt(s.ID, "go on")
	r := f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID
	body := `{"token":"` + p.Token(notify.Grant{Channel: "a", Request: r, Behavior: terret.BehaviorAllow, Expires: time.Now().Add(time.Hour).Unix()}) + `"}`
	if status, text := f.agent(f.token).call("/v1/notify/answer", body); status != "403" {
		t.Errorf("an agent answered: %s %s", status, text)
	}
	f.reply(body).want(204, nil)
}
