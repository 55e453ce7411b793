package sdk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
)

// thread checks that each message has an id and follows the one before, and returns
// the last id.
func thread(t *testing.T, after string, messages []*sdk.NormalizedMessage) string {
	t.Helper()
	for _, m := range messages {
		parent := ""
		if m.ParentUUID != nil {
			parent = *m.ParentUUID
		}
		if m.UUID == "" || m.UUID == after || parent != after || m.Timestamp.IsZero() {
			t.Fatalf("message %q of %s follows %q, want %q", m.UUID, m.Role, parent, after)
		}
		after = m.UUID
	}
	return after
}

// All tools run without being asked for, complete messages come in one thread, and
// the session goes on after the result.
func TestConversation(t *testing.T) {
	t.Parallel()
	o := demo(t)
	s := newSession(t, o)
	send(t, s, "create a.txt containing hi, then run: cat a.txt")
	first, result := receive(t, s)
	last := thread(t, "", first)
	if result.IsError || result.Subtype != "success" || !strings.Contains(result.Content, "hi") || result.Usage.Output == 0 {
		t.Errorf("result %+v", result)
	}
	if !exists(t, o.Cwd, "a.txt") {
		t.Error("the tools did not run")
	}
	var roles []terret.Role
	for _, m := range first {
		roles = append(roles, m.Role)
	}
	want := []terret.Role{"user", "assistant", "tool", "assistant", "tool", "assistant"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
	send(t, s, "read a.txt")
	second, result := receive(t, s)
	thread(t, last, second)
	if result.IsError || second[0].Text() != "read a.txt" {
		t.Errorf("second turn: %+v, %q", result, second[0].Text())
	}
}

func TestSystemMessage(t *testing.T) {
	t.Parallel()
	o := demo(t)
	s := newSession(t, o)
	send(t, s, "hello")
	var system []*sdk.SystemMessage
	for msg, err := range s.Receive(deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*sdk.SystemMessage); ok {
			system = append(system, m)
		}
	}
	if len(system) != 1 {
		t.Fatalf("%d system messages", len(system))
	}
	m := system[0]
	if m.Subtype != "init" || m.SessionID != s.ID() || m.Model != "demo" || m.Cwd != o.Cwd || len(m.Tools) == 0 {
		t.Errorf("%+v", m)
	}
}

// Messages that are sent at once take their turns, in order and in one thread.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t))
	for _, text := range []string{"one", "two", "three"} {
		send(t, s, text)
	}
	last := ""
	for _, text := range []string{"one", "two", "three"} {
		messages, result := receive(t, s)
		last = thread(t, last, messages)
		if result.Content != "You said: "+text {
			t.Errorf("result %q, want that of %q", result.Content, text)
		}
	}
}

// What the agent does by itself after a turn is not the answer to the next message.
func TestBackgroundIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Text: "one"}, {Background: []mock.Step{{Text: "by the way"}}}}, []mock.Step{{Text: "two"}}))
	send(t, s, "1")
	receive(t, s)
	for ev, err := range s.Events(deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Data.(terret.TurnComplete); ok && d.Text == "by the way" {
			break
		}
	}
	send(t, s, "2")
	messages, result := receive(t, s)
	if len(messages) != 2 || messages[0].Text() != "2" || result.Content != "two" {
		t.Errorf("%d messages, result %q", len(messages), result.Content)
	}
}

// A message keeps its own id and its place in the thread, where it has one.
func TestSendMessage(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t))
	const first, second, third = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"
	exchange := func(m sdk.UserMessage) []*sdk.NormalizedMessage {
		t.Helper()
		m.Message, m.SessionID = sdk.Text("hi"), s.ID()
		if err := s.SendMessage(deadline(t), m); err != nil {
			t.Fatal(err)
		}
		messages, _ := receive(t, s)
		thread(t, m.UUID, messages[1:])
		if messages[0].UUID != m.UUID {
			t.Errorf("%s became %s", m.UUID, messages[0].UUID)
		}
		return messages
	}
	last := func(messages []*sdk.NormalizedMessage) string { return messages[len(messages)-1].UUID }

	messages := exchange(sdk.UserMessage{UUID: first})
	thread(t, "", messages[:1])
	parent := last(messages)
	messages = exchange(sdk.UserMessage{UUID: second, ParentUUID: &parent})
	thread(t, parent, messages[:1])
	// Without a parent it begins a thread, although others were said before.
	messages = exchange(sdk.UserMessage{UUID: third, Root: true})
	thread(t, "", messages[:1])

	// The agent cannot go back.
	older, unknown := first, terret.NewSessionID()
	for name, parent := range map[string]*string{"older": &older, "older answer": &parent, "unknown": &unknown} {
		err := s.SendMessage(deadline(t), sdk.UserMessage{Message: sdk.Text("hi"), ParentUUID: parent})
		if kindOf(err) != terret.CodeConflict || !strings.Contains(err.Error(), last(messages)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range map[string]sdk.UserMessage{
		"another session": {Message: sdk.Text("hi"), SessionID: terret.NewSessionID()},
		"empty":           {},
		"empty text":      {Message: sdk.Text("")},
		"unknown part":    {Message: []sdk.Part{{Type: "sound"}}},
		"no image":        {Message: []sdk.Part{{Type: "image", MIMEType: "image/png"}}},
		"any image":       {Message: []sdk.Part{{Type: "image", Data: []byte("GIF89a")}}},
		"not a UUID":      {Message: sdk.Text("hi"), UUID: "my own"},
		"root and parent": {Message: sdk.Text("hi"), Root: true, ParentUUID: &older},
	} {
		if err := s.SendMessage(deadline(t), m); kindOf(err) != terret.CodeInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	// None of them was sent.
	for _, err := range s.Receive(deadline(t)) {
		if kindOf(err) != terret.CodeConflict {
			t.Errorf("receive without a message: %v", err)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t))
	image := []byte("\x89PNG\r\n\x1a\n")
	err := s.SendMessage(deadline(t), sdk.UserMessage{Message: []sdk.Part{{Type: "text", Text: "what is it?"}, {Type: "image", MIMEType: "image/png", Data: image}}})
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := receive(t, s)
	want := []terret.Block{terret.Text("what is it?"), {Type: terret.BlockImage, MediaType: "image/png", Bytes: image}}
	if diff := cmp.Diff(want, messages[0].Content); diff != "" {
		t.Error(diff)
	}
}

func TestPromptOnce(t *testing.T) {
	t.Parallel()
	result, err := sdk.Prompt(deadline(t), "hello", demo(t))
	if err != nil || result.IsError || !strings.HasPrefix(result.Content, "Hello!") {
		t.Errorf("%+v, %v", result, err)
	}
	// An error result is a result.
	result, err = sdk.Prompt(deadline(t), "fail", demo(t))
	if err != nil || !result.IsError || result.Subtype != "error" || result.Error.Code != terret.CodeModelError || result.Content != result.Error.Message {
		t.Errorf("%+v, %v", result, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sdk.Prompt(ctx, "hello", demo(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// One driver is the one to use; of several, one must be named.
func TestDrivers(t *testing.T) {
	t.Parallel()
	o := scripted(t)
	o.Agent = ""
	if result, err := sdk.Prompt(deadline(t), "hello", o); err != nil || result.IsError {
		t.Errorf("%+v, %v", result, err)
	}
	o.Drivers = append(o.Drivers, mock.NewFunc("other", nil))
	if _, err := sdk.NewSession(deadline(t), o); kindOf(err) != terret.CodeAgentNotFound || !strings.Contains(err.Error(), "among Drivers") {
		t.Errorf("two drivers: %v", err)
	}
	o.Drivers = []terret.Driver{nil}
	if _, err := sdk.NewSession(deadline(t), o); kindOf(err) != terret.CodeInvalidRequest {
		t.Errorf("a nil driver: %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*sdk.Options)
		want   terret.ErrorCode
	}{
		"agent":  {func(o *sdk.Options) { o.Agent = "nobody" }, terret.CodeAgentNotFound},
		"folder": {func(o *sdk.Options) { o.Cwd = filepath.Join(o.Cwd, "nowhere") }, terret.CodeInvalidRequest},
		"policy": {func(o *sdk.Options) { o.Policy = "whatever" }, terret.CodeInvalidRequest},
	} {
		o := demo(t)
		c.change(&o)
		if _, err := sdk.NewSession(deadline(t), o); kindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// There is no model unless somebody names one, with or without a key.
	for _, key := range []string{"X=", "ANTHROPIC_API_KEY=not-a-key"} {
		o := demo(t)
		o.Model, o.Env = "", append(o.Env, key)
		if _, err := sdk.NewSession(deadline(t), o); kindOf(err) != terret.CodeInvalidRequest || terret.AsError(err).Field != "Model" {
			t.Errorf("no model, with %s: %v", key, err)
		}
	}
	if _, err := sdk.Resume(deadline(t), terret.NewSessionID(), demo(t)); kindOf(err) != terret.CodeInvalidRequest {
		t.Errorf("resume from memory: %v", err)
	}
	o := demo(t)
	o.DataDir = t.TempDir()
	if _, err := sdk.Resume(deadline(t), terret.NewSessionID(), o); kindOf(err) != terret.CodeSessionNotFound {
		t.Errorf("resume what is not there: %v", err)
	}
	o = demo(t)
	o.Model = "nothing"
	if result, err := sdk.Prompt(deadline(t), "hello", o); err != nil || result.Error == nil || result.Error.Code != terret.CodeModelNotFound {
		t.Errorf("unknown model: %+v, %v", result, err)
	}
}

// Another session object takes up a session that is kept: the conversation, the
// thread and the ids go on.
func TestResume(t *testing.T) {
	t.Parallel()
	o := scripted(t, []mock.Step{{Text: "first"}}, []mock.Step{{Text: "second"}})
	o.DataDir = filepath.Join(t.TempDir(), "data")
	s := newSession(t, o)
	send(t, s, "one")
	messages, _ := receive(t, s)
	last := thread(t, "", messages)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sdk.Resume(deadline(t), s.ID(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.Receive(deadline(t)) {
		if kindOf(err) != terret.CodeConflict {
			t.Errorf("what was received before comes again: %v", err)
		}
	}
	send(t, s, "two")
	messages, result := receive(t, s)
	thread(t, last, messages)
	if result.Content != "second" {
		t.Errorf("result %q", result.Content)
	}
}

// Two at once do not see each other.
func TestTwoSessions(t *testing.T) {
	t.Parallel()
	a, b := newSession(t, scripted(t)), newSession(t, scripted(t))
	if a.ID() == b.ID() {
		t.Fatal("the same id")
	}
	send(t, a, "to a")
	send(t, b, "to b")
	_, fromB := receive(t, b)
	_, fromA := receive(t, a)
	if fromA.Content != "You said: to a" || fromB.Content != "You said: to b" {
		t.Errorf("%q, %q", fromA.Content, fromB.Content)
	}
}

// Without a data folder nothing is written anywhere, but what the agent writes.
func TestInMemory(t *testing.T) {
	t.Parallel()
	o := demo(t)
	home := strings.TrimPrefix(o.Env[1], "HOME=")
	if result, err := sdk.Prompt(deadline(t), "create a.txt containing 1", o); err != nil || result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	for dir, want := range map[string][]string{home: nil, o.Cwd: {"a.txt"}} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
}
