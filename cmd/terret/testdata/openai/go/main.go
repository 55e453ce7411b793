// Command openaistory uses the Unified Harness Protocol of a server by OpenAI's own client.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func main() {
	if err := story(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func story(base, key, harness string) error {
	ctx := context.Background()
	c := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
	ask := func(text, previous string) responses.ResponseNewParams {
		p := responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(text)}, Metadata: shared.Metadata{"harness_id": harness}}
		if previous != "" {
			p.PreviousResponseID = param.NewOpt(previous)
		}
		return p
	}
	hello, err := c.Responses.New(ctx, ask("say hello", ""))
	if err != nil || hello.OutputText() != "Hello from the scripted model." || hello.Status != "completed" {
		return fmt.Errorf("answer %q, %w", hello.OutputText(), err)
	}
	var text strings.Builder
	var last responses.Response
	stream := c.Responses.NewStreaming(ctx, ask("write the page", hello.ID))
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text.WriteString(e.Delta)
		case responses.ResponseCompletedEvent:
			last = e.Response
		}
	}
	if err := stream.Err(); err != nil || text.String() == "" || text.String() != last.OutputText() || last.PreviousResponseID != hello.ID {
		return fmt.Errorf("stream %q, response %q, %w", text.String(), last.OutputText(), err)
	}
	got, err := c.Responses.Get(ctx, last.ID, responses.ResponseGetParams{})
	if err != nil || got.OutputText() != last.OutputText() {
		return fmt.Errorf("read again %v, %w", got, err)
	}
	behind := ask("wait long", "")
	behind.Background = param.NewOpt(true)
	long, err := c.Responses.New(ctx, behind)
	if err != nil || long.Status != "in_progress" {
		return fmt.Errorf("background %v, %w", long, err)
	}
	if _, err := c.Responses.Cancel(ctx, long.ID); err != nil {
		return err
	}
	_, err = c.Responses.Get(ctx, "resp_nothing", responses.ResponseGetParams{})
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 404 || e.Code != "response_not_found" {
		return fmt.Errorf("of nothing: %w", err)
	}
	return nil
}
