package store_test

import (
	"fmt"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// A store of another kind gets its rows here: pieces of text that wait together become
// one, and the projection says what else changes.
func ExampleRows() {
	at := terret.TimeOf(time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC))
	piece := func(text string) terret.Event {
		return terret.Event{Session: "s", Turn: "trn_1", Time: at, Data: terret.MessageDelta{MessageID: "msg_1", Text: text}}
	}
	rows, changes, err := store.Rows(terret.Batch{Session: "s", Events: []terret.Event{
		{Session: "s", Turn: "trn_1", Time: at, Data: terret.TurnStart{Prompt: []terret.Block{terret.Text("Hello.")}, Origin: terret.OriginUser}},
		piece("Hello "), piece("to you."),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		fmt.Println(r.Kind)
	}
	fmt.Println(len(changes.Started), "turn has begun")
	// Output:
	// turn.start
	// message.delta
	// 1 turn has begun
}
