package mcphost

import (
	"context"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
)

// TestConfirm is a question without fields: only yes is an acceptance.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{yes: accepted, no: declined, "": declined} {
		s := &Servers{o: Options{Ask: func(context.Context, terret.QuestionRequest) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{confirm: {answer}}}, nil
		}}}
		if got, err := s.elicit(t.Context(), "shop", &mcp.ElicitParams{Message: "Buy it?"}); err != nil || got.Action != want {
			t.Errorf("%q: %+v, %v; want %s", answer, got, err, want)
		}
	}
}

// TestAnswersStay are that what the server gets does not change what was decided.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	f := form{Properties: map[string]field{"size": {Type: "string", Enum: []string{"l"}, Names: []string{"Large"}}}}
	given := terret.Choice{"Large"}
	content, err := f.content(map[string]terret.Choice{"size": given})
	if err != nil || content["size"] != "l" || !slices.Equal([]string(given), []string{"Large"}) {
		t.Errorf("%v, %v; the answer is now %v", content, err, given)
	}
}
