package mcphost

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
)

// TestElicit is that a person decides, and sees who asks and which address he is to open.
func TestElicit(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{elicit.Yes: elicit.Accepted, elicit.No: elicit.Declined} {
		s := &Servers{o: Options{Ask: func(_ context.Context, q terret.QuestionRequest) (terret.Decision, error) {
			if len(q.Questions) != 1 || q.Questions[0].Header != "shop" || q.Questions[0].Text != "Buy it?" || q.URL != "https://shop.example/pay" {
				t.Errorf("%+v", q)
			}
			return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{elicit.Confirm: {answer}}}, nil
		}}}
		got, err := s.elicit(t.Context(), "shop", &mcp.ElicitParams{Mode: "url", Message: "Buy it?", URL: "https://shop.example/pay"})
		if err != nil || got.Action != want {
			t.Errorf("%q: %+v, %v; want %s", answer, got, err, want)
		}
	}
	s := &Servers{o: Options{Ask: func(context.Context, terret.QuestionRequest) (terret.Decision, error) {
		t.Error("a person was asked")
		return terret.Decision{}, nil
	}}}
	for _, address := range []string{"file:///etc/passwd", "javascript:alert(1)", "https:", "%"} {
		if _, err := s.elicit(t.Context(), "shop", &mcp.ElicitParams{Mode: "url", Message: "Open it", URL: address}); err == nil || !strings.Contains(err.Error(), "is not an address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
