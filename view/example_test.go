package view_test

import (
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// Another system reads what happens in its own words.
func ExampleNew() {
	v, err := view.New("chirality", view.Options{Session: terret.Session{ID: "s"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range v.Event(terret.Event{Session: "s", Data: terret.MessageDelta{MessageID: "msg_1", Text: "Hello."}}) {
		fmt.Println(string(m.Data))
	}
	// Output: {"type":"chat:delta","sessionId":"s","text":"Hello."}
}
