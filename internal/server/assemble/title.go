package assemble

import (
	"context"
	"strings"

	"github.com/terret-dev/terret/driver/native"
)

const (
	titleRequest = "You are given the beginning of a task. Answer with a title for it, and nothing else: at most six words, in the language of the task, without quotes or a full stop. Do not work on the task."
	maxTitled    = 2000 // bytes of a prompt that a title is made from
)

// title is how titles of sessions are found; nil if no model is configured for that.
func (h *Harness) title() func(context.Context, string) (string, error) {
	model := h.options.Config.TitleModel
	if model == "" {
		return nil
	}
	for _, d := range h.Agents.fixed {
		if d, ok := d.(*native.Driver); ok {
			return func(ctx context.Context, prompt string) (string, error) {
				if len(prompt) > maxTitled {
					prompt = strings.ToValidUTF8(prompt[:maxTitled], "")
				}
				return d.Complete(ctx, model, titleRequest, prompt)
			}
		}
	}
	return nil
}
