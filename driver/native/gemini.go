package native

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/terret-dev/terret"
)

// gemini is a model of Google's generateContent API.
type gemini struct {
	*endpoint
	plain atomic.Bool // it does not think, and said so
}

func geminiAuth(h http.Header, _, key string) { h.Set("X-Goog-Api-Key", key) }

// generate implements model. A model that cannot think, which nobody knew, says so before
// it says anything else.
func (g *gemini) generate(ctx context.Context, q query, s sink) (reply, error) {
	request := g.request(q)
	r, err := g.send(ctx, request, s)
	if request.Config != nil && rejects(err, "thinking") {
		g.plain.Store(true)
		return g.send(ctx, g.request(q), s)
	}
	return r, err
}

func (g *gemini) send(ctx context.Context, request geminiRequest, s sink) (reply, error) {
	a := newChatAnswer()
	err := g.ask(ctx, "v1beta/models/"+g.model+":streamGenerateContent?alt=sse", request, func() bool { return a.begun }, func(_ string, data []byte) error {
		var chunk geminiChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return g.apiError(err, a.begun)
		}
		if why := chunk.Feedback.Block; why != "" {
			return terret.Errorf(terret.CodeModelError, "the API refused the prompt: %s", why)
		}
		for _, p := range g.take(&a, chunk) {
			if err := s(p); err != nil {
				return err
			}
		}
		return nil
	})
	return g.finish(ctx, err, a.begun, a.reply())
}

// take adds a chunk to an answer, and returns the pieces that it brings.
func (g *gemini) take(a *chatAnswer, chunk geminiChunk) []piece {
	a.begun = a.begun || len(chunk.Candidates) > 0
	if chunk.Usage != nil {
		a.usage = chunk.Usage.tokens()
	}
	var out []piece
	for _, c := range chunk.Candidates {
		if c.Index != 0 {
			continue // we ask for one
		}
		for _, p := range c.Content.Parts {
			out = append(out, g.part(a, p)...)
		}
		if c.Finish != "" {
			a.stopReason = geminiStop(c.Finish, len(a.calls) > 0)
		}
	}
	return out
}

// part adds a part of an answer. Calls come as a whole.
func (g *gemini) part(a *chatAnswer, p geminiPart) []piece {
	switch {
	case p.Call != nil:
		call := chatCall{ID: p.Call.ID}
		call.Function.Name, call.Function.Arguments = p.Call.Name, string(p.Call.Args)
		i := len(a.blocks)
		out := a.call(call)
		if p.Signature != "" {
			a.blocks[i].Bytes = []byte(g.id() + "\n" + p.Signature)
		}
		return out
	case p.Text == "":
	case p.Thought:
		return []piece{{index: a.grow(&a.thinking, terret.BlockThinking, p.Text), thinking: p.Text}}
	default:
		return []piece{{index: a.grow(&a.text, terret.BlockText, p.Text), text: p.Text}}
	}
	return nil
}

// geminiStop is why the model stopped, in the words that we use.
func geminiStop(finish string, calls bool) string {
	switch {
	case finish == "STOP" && calls:
		return "tool_use"
	case finish == "STOP":
		return "end_turn"
	case finish == "MAX_TOKENS":
		return "max_tokens"
	case finish == "SAFETY" || finish == "RECITATION" || finish == "BLOCKLIST" || finish == "PROHIBITED_CONTENT" || finish == "SPII":
		return "refusal"
	}
	return strings.ToLower(finish)
}
