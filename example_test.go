package terret_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/terret-dev/terret"
)

// A driver fills in the data; the engine adds session, turn and time, and the
// store keeps the encoded bytes.
func ExampleEvent_Encode() {
	event := terret.Event{
		Session: "0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e",
		Turn:    "trn_0195e0c5-01d2-7b4e-8c3a-5f6e7d8c9b0a",
		Time:    terret.TimeOf(time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)),
		Data: terret.ToolPre{
			ToolID: "toolu_1",
			Name:   "Bash",
			Class:  terret.ClassExecute,
			Input:  terret.JSON(`{"command":"go test ./..."}`),
		},
	}
	body, err := event.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	// The store has committed it as number 7. This is what readers are sent:
	entry := terret.Entry{Session: event.Session, Seq: 7, Kind: event.Kind(), Body: body}
	fmt.Println(string(entry.AppendJSON(nil)))
	// Output:
	// {"seq":7,"v":1,"session":"0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e","turn":"trn_0195e0c5-01d2-7b4e-8c3a-5f6e7d8c9b0a","time":"2026-03-14T15:09:26.000000Z","kind":"tool.pre","actor":"root","visibility":"ui","data":{"tool_id":"toolu_1","name":"Bash","class":"execute","input":{"command":"go test ./..."}}}
}

// A reader switches on the type of the data, and lets pass what it has no use for.
func ExampleData() {
	events := []terret.Event{
		{Data: terret.TurnStart{Prompt: []terret.Block{terret.Text("Fix the loop.")}, Origin: terret.OriginUser}},
		{Data: terret.DiagStderr{Text: "warning: slow network"}},
		{Data: terret.MessageDelta{MessageID: "msg_1", Text: "The loop "}},
		{Data: terret.MessageDelta{MessageID: "msg_1", Text: "ends now."}},
		{Data: terret.TurnComplete{Text: "The loop ends now.", CostUSD: terret.CostOf(0.0123)}},
	}
	for _, event := range events {
		switch data := event.Data.(type) {
		case terret.TurnStart:
			fmt.Printf("> %s\n", terret.TextOf(data.Prompt))
		case terret.MessageDelta:
			fmt.Print(data.Text)
		case terret.TurnComplete:
			fmt.Printf("\n(%s USD)\n", data.CostUSD)
		case terret.TurnError:
			fmt.Printf("\n%s\n", data.Error.Message)
		}
	}
	// Output:
	// > Fix the loop.
	// The loop ends now.
	// (0.0123 USD)
}

// A newer version of the harness wrote this event. Its kind is not known here, and
// still nothing is lost.
func ExampleEntry_Decode() {
	entry := terret.Entry{
		Seq:  8,
		Body: []byte(`{"v":2,"session":"s","time":"2031-01-01T00:00:00.000Z","kind":"weather.change","data":{"sky":"blue"}}`),
	}
	event, err := entry.Decode()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.Kind(), event.Kind().Known())
	if data, ok := event.Data.(terret.Opaque); ok {
		fmt.Println(string(data.JSON))
	}
	// Output:
	// weather.change false
	// {"sky":"blue"}
}

// The program branches on the kind, the person reads the message, and one table
// says what the kind means to each kind of caller.
func ExampleError() {
	prompt := func() error {
		return fmt.Errorf("prompt: %w", terret.Errorf(terret.CodeSessionBusy, "A turn is running. Wait for it, or queue the prompt."))
	}
	err := prompt()
	if errors.Is(err, terret.ErrBusy) {
		e := terret.AsError(err)
		fmt.Println(e.Message)
		fmt.Println(e.Code, e.Code.Class().HTTP, e.Code.Class().Exit)
	}
	// Output:
	// A turn is running. Wait for it, or queue the prompt.
	// session_busy 409 3
}
