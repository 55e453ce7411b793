package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
)

// maxFailures is how often the model may make the same failing calls in a row.
const maxFailures = 4

// stuck counts how often the model made the same calls in a row, and all of them failed.
type stuck struct {
	calls string
	times int
}

// note takes the calls of a step with their results, and reports whether it is enough.
func (s *stuck) note(calls, results []terret.Block) bool {
	var made strings.Builder
	for i, c := range calls {
		if !results[i].IsError {
			*s = stuck{}
			return false
		}
		fmt.Fprintf(&made, "%s %s\n", c.Name, c.Input)
	}
	if made.String() != s.calls {
		*s = stuck{calls: made.String()}
	}
	s.times++
	return s.times >= maxFailures
}

const (
	goOnAnswer = "Go on"
	stopAnswer = "Stop"
)

// unstick asks a person what to do if the model makes the same failing calls again and
// again. What the person answers, it is told. The error ends the turn.
func (t *turnRun) unstick(ctx context.Context, calls, results []terret.Block) error {
	if !t.stuck.note(calls, results) {
		return nil
	}
	times := t.stuck.times
	t.stuck = stuck{}
	what := fmt.Sprintf("the model called %s in the same way %d times, and it failed each time: %s", calls[0].Name, times, firstLine(terret.TextOf(results[0].Content)))
	over := terret.Errorf(terret.CodeModelError, "%s", what)
	if t.sub != nil {
		return over
	}
	d, err := t.decide(ctx, terret.Ask{Key: terret.NewID(terret.PrefixControl), Gate: terret.GateQuestion, Event: t.event(terret.QuestionRequest{Questions: []terret.Question{{
		ID: questionID, Header: "Stuck", Text: strings.ToUpper(what[:1]) + what[1:] + ". What now?",
		Options: []terret.Option{{Label: goOnAnswer}, {Label: stopAnswer, Description: "or say what to do instead"}},
	}}})})
	if err != nil {
		return err
	}
	answer := strings.Join(d.Answers[questionID], ", ")
	if d.Behavior != terret.BehaviorAnswer || answer == stopAnswer {
		return over
	}
	if answer != goOnAnswer && answer != "" {
		blocks := []terret.Block{terret.Text(answer)}
		t.add(message{role: terret.RoleUser, blocks: blocks, turn: t.id})
		return t.emit(ctx, terret.UserPrompt{Blocks: blocks})
	}
	return nil
}
