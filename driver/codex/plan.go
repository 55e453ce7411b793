package codex

import (
	"cmp"

	"github.com/terret-dev/terret"
)

// implement is how Codex is told that its plan is good, as its own interface does.
const implement = "Implement the plan."

// planning reports whether a turn with those parameters is in plan mode.
func planning(params object) bool {
	mode, _ := params["collaborationMode"].(object)
	return mode["mode"] == planMode
}

// present puts a plan to people. Codex has ended its turn with it; ours goes on with
// another one of Codex's, in which the plan is carried out, or thought over.
func (a *agent) present(p *process, plan string) {
	d, err := p.ask(terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GatePlan,
		Event: terret.Event{Source: "item/completed", Data: terret.PlanRequest{Plan: plan}},
	})
	if p.Life.Err() != nil {
		return // the turn ends with the process
	}
	if err != nil || d.Source == terret.ByInterrupt || d.Interrupt {
		p.say("turn/completed", nil, func(t *translator) {
			if t.turn.running {
				t.endTurn(terret.Errorf(terret.CodeInterrupted, "the turn was interrupted"))
			}
		})
		return
	}
	_ = a.Req.Host.Delivered(p.Life, d.RequestID) // for the record only
	text := cmp.Or(d.Reason, "The plan is not approved. Revise it.")
	if d.Behavior == terret.BehaviorApprove {
		text = implement
		a.leavePlanMode(p, d.NextMode)
	}
	a.mu.Lock()
	params := a.turnParams(a.turn)
	a.mu.Unlock()
	p.mu.Lock()
	p.t.turn.planning = planning(params)
	p.mu.Unlock()
	params["input"] = []object{{"type": "text", "text": text}}
	if err := p.startTurn(p.Life, "turn/start", params); err != nil {
		p.say("turn/start", nil, func(t *translator) {
			if t.turn.running {
				t.endTurn(terret.AsError(refusal(err)))
			}
		})
	}
}

// leavePlanMode goes on in the mode that was chosen with the plan, for the rest of the
// turn and, if it was the session's, of the session. A sandbox holds from the next turn on.
func (a *agent) leavePlanMode(p *process, next string) {
	if checkMode(next) != nil || next == planMode || next == "" {
		next = noSandbox
	}
	a.mu.Lock()
	own := a.mode == planMode
	if own {
		a.mode = next
	}
	a.turn.PermissionMode = ""
	a.mu.Unlock()
	if own {
		p.say("turn/start", nil, func(t *translator) { t.emit(terret.SessionUpdated{PermissionMode: &next}) })
	}
}
