package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/sdk"
)

// project makes a folder with a file in it.
func project() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		err = os.WriteFile(dir+"/go.mod", []byte("module example\n"), 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// A message is a string; the answers are ranged over.
func Example() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	session, err := sdk.NewSession(ctx, sdk.Options{Model: "demo", Cwd: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Send(ctx, "list files"); err != nil {
		log.Fatal(err)
	}
	for msg, err := range session.Receive(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch m := msg.(type) {
		case *sdk.SystemMessage:
			fmt.Println("model:", m.Model)
		case *sdk.NormalizedMessage:
			if m.Role == terret.RoleAssistant {
				fmt.Println("assistant:", m.Text())
			}
		case *sdk.ResultMessage:
			fmt.Println("result:", m.Subtype)
		}
	}
	// Output:
	// model: demo
	// assistant: I will list the files.
	// assistant: ```
	// go.mod
	// ```
	// result: success
}

// A message may have an id of its own and a place in the thread.
func ExampleSession_SendMessage() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	session, err := sdk.NewSession(ctx, sdk.Options{Model: "demo", Cwd: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	err = session.SendMessage(ctx, sdk.UserMessage{
		Message:   sdk.Text("read go.mod"),
		UUID:      "22222222-2222-4222-8222-222222222222",
		Root:      true, // it follows no other
		SessionID: session.ID(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for msg, err := range session.Receive(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if m, ok := msg.(*sdk.NormalizedMessage); ok && m.Role == terret.RoleUser {
			fmt.Println(m.UUID, "begins a thread:", m.ParentUUID == nil)
		}
	}
	// Output: 22222222-2222-4222-8222-222222222222 begins a thread: true
}

// One message, one result.
func ExamplePrompt() {
	dir, remove := project()
	defer remove()
	result, err := sdk.Prompt(context.Background(), "read go.mod", sdk.Options{Model: "demo", Cwd: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("success:", !result.IsError)
	// Output: success: true
}

// With the policy ask, the program decides what the agent may do.
func ExampleOptions_onRequest() {
	dir, remove := project()
	defer remove()
	result, err := sdk.Prompt(context.Background(), "run: echo ran", sdk.Options{
		Model: "demo", Cwd: dir, Policy: terret.PolicyAsk,
		OnRequest: func(_ context.Context, r terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not today"}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content)
	// Output: That did not work: denied: not today
}

// At the gates that it names, the agent waits for the program, too: here it must not stop
// before it has done something else. What a request is about depends on its gate.
func ExampleOptions_gates() {
	dir, remove := project()
	defer remove()
	blocked := false
	result, err := sdk.Prompt(context.Background(), "ask me", sdk.Options{
		Model: "demo", Cwd: dir, Gates: []terret.Gate{terret.GateStop},
		OnRequest: func(_ context.Context, r terret.Request) (terret.Decision, error) {
			switch r.Gate {
			case terret.GateQuestion:
				var q terret.QuestionRequest
				if err := json.Unmarshal(r.Data, &q); err != nil {
					return terret.Decision{}, err
				}
				answers := map[string]terret.Choice{q.Questions[0].ID: {"blue"}}
				return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: answers}, nil
			case terret.GateStop:
				if blocked {
					return terret.Decision{Behavior: terret.BehaviorAllow}, nil
				}
				blocked = true
				return terret.Decision{Behavior: terret.BehaviorBlock, Reason: "read go.mod"}, nil
			default:
				return terret.Decision{}, fmt.Errorf("nobody decides at the gate %s", r.Gate)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("it has read go.mod:", strings.Contains(result.Content, "module example"))
	// Output: it has read go.mod: true
}

// A session that is kept can be taken up again, by this program or another.
func ExampleResume() {
	dir, remove := project()
	defer remove()
	data, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	ctx := context.Background()
	first, err := sdk.NewSession(ctx, sdk.Options{Model: "demo", Cwd: dir, DataDir: data})
	if err != nil {
		log.Fatal(err)
	}
	if err := first.Close(); err != nil {
		log.Fatal(err)
	}
	again, err := sdk.Resume(ctx, first.ID(), sdk.Options{DataDir: data})
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	fmt.Println(again.ID() == first.ID())
	// Output: true
}
