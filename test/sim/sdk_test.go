package sim_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/test/sim"
)

// These tests let the official client read what is served.

func sdk(t *testing.T, s *sim.Scenario, options ...option.RequestOption) (*sim.Server, anthropic.Client) {
	t.Helper()
	srv, url := start(t, s, sim.Options{Vars: map[string]string{"dir": "/home/dev"}})
	options = append([]option.RequestOption{
		option.WithBaseURL(url), option.WithAPIKey("fake"), option.WithHTTPClient(client(t)), option.WithMaxRetries(0),
	}, options...)
	return srv, anthropic.NewClient(options...)
}

func params(messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 1000, Messages: messages,
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "Write"}}},
	}
}

func userParam(text string) anthropic.MessageParam {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

// streamed collects the stream.
func streamed(t *testing.T, c anthropic.Client, p anthropic.MessageNewParams) (anthropic.Message, error) {
	t.Helper()
	stream := c.Messages.NewStreaming(t.Context(), p)
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	return m, stream.Err()
}

func TestSDKToolUse(t *testing.T) {
	t.Parallel()
	srv, c := sdk(t, load(t, "tools"))
	messages := []anthropic.MessageParam{userParam("make a file")}
	m, err := streamed(t, c, params(messages...))
	if err != nil {
		t.Fatal(err)
	}
	if m.StopReason != "tool_use" || len(m.Content) != 2 || m.Content[0].Text != "I will write it." || m.Usage.OutputTokens != 5 {
		t.Errorf("%+v", m)
	}
	var in map[string]string
	if err := json.Unmarshal(m.Content[1].Input, &in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"file_path": "/home/dev/a.txt", "content": "hi <&>\n"}, in); diff != "" {
		t.Error(diff)
	}
	// The next turn is not streamed.
	messages = append(messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(m.Content[1].ID, "File created.", false)))
	end, err := c.Messages.New(t.Context(), params(messages...))
	if err != nil {
		t.Fatal(err)
	}
	if end.Content[0].Text != "The tool said: File created." || end.StopReason != "end_turn" || end.ID == m.ID {
		t.Errorf("%+v", end)
	}
	if got := srv.Player().Remaining(); len(got) > 0 {
		t.Error(got)
	}
}

func TestSDKThinkingRefusalAndParallelTools(t *testing.T) {
	t.Parallel()
	_, c := sdk(t, load(t, "thinking"))
	m, err := streamed(t, c, params(userParam("x")))
	if err != nil || len(m.Content) != 2 || m.Content[0].Thinking != "hmm let me see" || m.Content[0].Signature != "c2ln" || m.Content[1].Text != "Four." {
		t.Errorf("%v %+v", err, m)
	}
	_, c = sdk(t, load(t, "refusal"))
	m, err = streamed(t, c, params(userParam("x")))
	if err != nil || m.StopReason != "refusal" || m.Content[0].Text != "I cannot help with that." {
		t.Errorf("%v %+v", err, m)
	}
	_, c = sdk(t, load(t, "parallel"))
	m, err = streamed(t, c, params(userParam("x")))
	if err != nil || len(m.Content) != 3 || string(m.Content[1].Input) != `{"command":"pwd"}` || m.Content[2].Name != "Now" || m.Content[0].ID == m.Content[1].ID {
		t.Errorf("%v %+v", err, m)
	}
	_, c = sdk(t, load(t, "hello"))
	m, err = streamed(t, c, params(userParam("hello")))
	if err != nil || m.Usage.InputTokens != 100 || m.Usage.OutputTokens != 20 || m.Usage.CacheReadInputTokens != 7 || m.Usage.CacheCreationInputTokens != 3 {
		t.Errorf("%v %+v", err, m.Usage)
	}
}

func TestSDKErrors(t *testing.T) {
	t.Parallel()
	_, c := sdk(t, load(t, "errors"))
	for _, want := range []struct {
		status int
		text   string
	}{{529, "overloaded_error"}, {529, "overloaded_error"}, {429, "Slow down"}, {400, "billing_error"}, {502, "Bad Gateway"}} {
		_, err := c.Messages.New(t.Context(), params(userParam("x")))
		e, ok := errors.AsType[*anthropic.Error](err)
		if !ok || e.StatusCode != want.status || !strings.HasPrefix(e.RequestID, "req_sim_") || !strings.Contains(e.Error(), want.text) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	m, err := streamed(t, c, params(userParam("x")))
	if err == nil || !strings.Contains(err.Error(), "Overloaded") || m.Content[0].Text != "I was" {
		t.Errorf("%v %+v", err, m)
	}
}

func TestSDKRetries(t *testing.T) {
	t.Parallel()
	srv, c := sdk(t, parse(t, `
steps:
  - {answer: {error: {status: 529, retry_after: 1ms}}, repeat: 2}
  - {answer: {error: {status: 429, retry_after: 1ms}}}
  - answer: {text: recovered}
`), option.WithMaxRetries(3))
	m, err := c.Messages.New(t.Context(), params(userParam("x")))
	if err != nil || m.Content[0].Text != "recovered" {
		t.Errorf("%v %+v", err, m)
	}
	// What no step answers is not tried again.
	if _, err = c.Messages.New(t.Context(), params(userParam("x"))); err == nil || len(srv.Player().Unmatched()) != 1 {
		t.Errorf("%v %v", err, srv.Player().Unmatched())
	}
}

func TestSDKDropAndGarbage(t *testing.T) {
	t.Parallel()
	_, c := sdk(t, load(t, "drop"))
	if _, err := c.Messages.New(t.Context(), params(userParam("x"))); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	m, err := streamed(t, c, params(userParam("x")))
	if !errors.Is(err, io.ErrUnexpectedEOF) || m.Content[0].Text != "I was about to" {
		t.Errorf("%v %+v", err, m)
	}
	_, c = sdk(t, load(t, "garbage"))
	if m, err := c.Messages.New(t.Context(), params(userParam("x"))); err == nil {
		t.Errorf("%+v", m)
	}
	if m, err := streamed(t, c, params(userParam("x"))); err == nil {
		t.Errorf("%+v", m)
	}
}

func TestSDKModelsAndTokens(t *testing.T) {
	t.Parallel()
	_, c := sdk(t, load(t, "reference"), option.WithAPIKey("sk-scripted"))
	page, err := c.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(page.Data) != 2 || page.Data[0].ID != "claude-opus-4-8" || page.Data[0].CreatedAt.IsZero() {
		t.Errorf("%v %+v", err, page)
	}
	count, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "m", Messages: []anthropic.MessageParam{userParam("hello")}})
	if err != nil || count.InputTokens == 0 {
		t.Errorf("%v %+v", err, count)
	}
}
