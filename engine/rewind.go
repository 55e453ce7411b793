package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// The directions of a rewind.
const (
	undo = "undo"
	redo = "redo"
)

// travelTime bounds how long an agent may take to change its conversation after the
// files have changed: the caller may be gone by then.
const travelTime = 30 * time.Second

// Rewound is what undo or redo did.
type Rewound struct {
	Turn  string   `json:"turn"`
	Files []string `json:"files"`
	// Kept lists files that were not restored, because they were ignored or too large
	// to record, or because another session may have changed them: Note says which.
	Kept []string `json:"kept,omitempty"`
	// Lost lists what may have changed since the turn began and undo does not take back,
	// and Commands counts the commands that the turn ran: what they did outside of the
	// folder stays too.
	Lost     []Lost `json:"lost,omitempty"`
	Commands int    `json:"commands,omitempty"`
	// Copy names the copy of what a forced undo or redo overwrote; see Copies.
	Copy string `json:"copy,omitempty"`
	// Conversation says that the agent's conversation went back, or forward, too. Note
	// says what was left unchanged, and why.
	Conversation bool   `json:"conversation"`
	Note         string `json:"note,omitempty"`
}

// Lost is a file or folder that undo does not take back, and why.
type Lost struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Undo reverts the last turn that is not undone: its changes in the folder, and the
// conversation too if the agent can do that. If it cannot, Undo reverts the last turn
// that changed something, and the result says that the agent still remembers it. Files
// that another session may have changed meanwhile stay as they are: see Others. If
// somebody has changed the files since, that is a conflict that names them, and nothing
// is changed unless forced; then a copy of them is kept.
func (e *Engine) Undo(ctx context.Context, session, by string, force bool) (Rewound, error) {
	return e.rewind(ctx, session, trip{direction: undo, by: by, force: force})
}

// Redo restores what the last Undo reverted.
func (e *Engine) Redo(ctx context.Context, session, by string, force bool) (Rewound, error) {
	return e.rewind(ctx, session, trip{direction: redo, by: by, force: force})
}

// trip is one move back or forward.
type trip struct {
	direction string
	by        string
	force     bool

	turn    terret.Turn // the turn to undo or redo
	also    []string    // turns that move with it in the conversation
	agent   terret.Rewinder
	unable  string // why the agent takes no part, if so
	talk    bool   // the conversation must move too
	remarks []string
	others  *Others // who else changed files during the turn
}

func (e *Engine) rewind(ctx context.Context, session string, way trip) (out Rewound, err error) {
	err = e.quietly(ctx, session, way.direction, func(l *live) error {
		out, err = e.travel(ctx, l, way)
		return err
	})
	return out, err
}

// travel does the work of rewind while nothing else happens in the session. The files
// go first: they can be refused without harm.
func (e *Engine) travel(ctx context.Context, l *live, way trip) (Rewound, error) {
	if err := l.flush(); err != nil {
		return Rewound{}, err
	}
	turns, err := e.store.Turns(ctx, l.id)
	if err != nil {
		return Rewound{}, err
	}
	if len(turns) == 0 {
		return Rewound{}, nothingTo(way.direction, l.id)
	}
	if err := e.enlist(ctx, l, &way); err != nil {
		return Rewound{}, err
	}
	dir := l.sessionCopy().Cwd
	repo, off := e.repos.repo(ctx, dir)
	if off != nil && way.agent == nil {
		return Rewound{}, terret.Errorf(terret.CodeUnsupported, "%w", off)
	}
	if err := e.choose(ctx, l, &way, turns); err != nil {
		return Rewound{}, err
	}
	out := Rewound{Turn: way.turn.ID, Files: []string{}}
	data := terret.CheckpointRewound{CheckpointID: terret.NewID(terret.PrefixCheckpoint), MessageID: way.turn.MessageID, Direction: way.direction}
	switch {
	case hasSnapshots(way.turn) && off != nil:
		return Rewound{}, terret.Errorf(terret.CodeUnsupported, "%w", off)
	case hasSnapshots(way.turn):
		if way.others, err = e.Others(ctx, l.sessionCopy(), way.turn); err != nil {
			return Rewound{}, err
		}
		if err := way.files(ctx, repo, dir, &out, &data); err != nil {
			return Rewound{}, err
		}
		if way.direction == undo {
			e.tellLost(ctx, l, repo, way.turn, &out)
		}
	case off != nil:
		way.remark("files were left unchanged: " + off.Error())
	case way.turn.Before != "" && way.turn.After == "":
		way.remark("files were left unchanged: the folder was not recorded after this turn")
	}
	if out.Conversation, err = way.conversation(ctx); err != nil {
		return Rewound{}, err
	}
	out.Note = strings.Join(way.remarks, "; ")
	data.Files, data.Turns = out.Files, []string{way.turn.ID}
	data.Conversation, data.Note, data.Copy = out.Conversation, out.Note, out.Copy
	if out.Conversation {
		data.Turns = append(data.Turns, way.also...)
	}
	l.mu.Lock()
	a := l.write(l.put(nil, terret.Event{By: way.by, Data: data}), nil)
	l.mu.Unlock()
	return out, a.Wait()
}

func nothingTo(direction, session string) error {
	return terret.Errorf(terret.CodeConflict, "there is nothing to %s in session %s", direction, session)
}

// hasSnapshots reports whether the turn changed files and both snapshots are known.
func hasSnapshots(t terret.Turn) bool { return t.Changed && t.Before != "" && t.After != "" }

func (w *trip) remark(text string) { w.remarks = append(w.remarks, text) }

// enlist opens the agent and finds out whether it can take part.
func (e *Engine) enlist(ctx context.Context, l *live, way *trip) error {
	agent, err := e.agentOf(ctx, l)
	switch {
	case errors.Is(err, errGone):
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		way.unable = "the agent could not be opened: " + err.Error()
		return nil
	}
	name := terret.CanUndo
	if way.direction == redo {
		name = terret.CanRedo
	}
	ability := terret.CapabilitiesOf(agent).Abilities[name]
	r, ok := agent.(terret.Rewinder)
	switch {
	case ok && ability.OK && ability.By != terret.ByHarness:
		way.agent = r
	case ability.Reason != "":
		way.unable = "this agent cannot change its conversation: " + ability.Reason
	default:
		way.unable = "this agent cannot change its conversation"
	}
	return nil
}

// choose finds the turn to undo or redo.
func (e *Engine) choose(ctx context.Context, l *live, way *trip, turns []terret.Turn) error {
	if way.direction == redo {
		return e.chooseUndone(ctx, l, way, turns)
	}
	for _, t := range slices.Backward(turns) {
		switch {
		case t.Undone:
		case hasSnapshots(t), way.agent != nil && t.MessageID != "":
			way.turn, way.talk = t, true
			return nil
		case way.agent != nil: // the agent started it itself: it goes with the previous prompt
			way.also = append(way.also, t.ID)
		}
	}
	return nothingTo(way.direction, l.id)
}

// chooseUndone finds the turn that was undone last. The log has the order, and tells
// whether a new turn has made redo impossible.
func (e *Engine) chooseUndone(ctx context.Context, l *live, way *trip, turns []terret.Turn) error {
	var stack []terret.CheckpointRewound
	for entry, err := range e.hub.Entries(ctx, l.id, terret.KindTurnStart, terret.KindCheckpointRewound) {
		if err != nil {
			return err
		}
		if entry.Kind == terret.KindTurnStart {
			stack = nil
			continue
		}
		ev, err := entry.Decode()
		if err != nil {
			return err
		}
		d, ok := ev.Data.(terret.CheckpointRewound)
		switch {
		case !ok || len(d.Turns) == 0:
		case d.Direction == undo:
			stack = append(stack, d)
		case len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) == 0 {
		return nothingTo(way.direction, l.id)
	}
	last := stack[len(stack)-1]
	way.also, way.talk = last.Turns[1:], last.Conversation
	for _, t := range turns {
		if t.ID == last.Turns[0] {
			way.turn = t
			return nil
		}
	}
	return nothingTo(way.direction, l.id)
}

// files restores the folder to its state on the other side of the turn.
func (w *trip) files(ctx context.Context, repo *checkpoint.Repo, dir string, out *Rewound, data *terret.CheckpointRewound) error {
	from, to := checkpoint.ID(w.turn.After), checkpoint.ID(w.turn.Before)
	if w.direction == redo {
		from, to = to, from
	}
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return terret.Errorf(terret.CodeInternal, "compare the states of %s: %w", dir, err)
	}
	result, err := repo.Restore(ctx, from, to, checkpoint.RestoreOptions{
		Force: w.force, For: w.direction + " of turn " + w.turn.ID, Leave: func(path string) bool { return w.others.By(path) != "" },
	})
	if err := restoreError(err, w.direction, dir); err != nil {
		return err
	}
	out.Files, out.Copy = append(out.Files, result.Restored...), result.Copy
	for _, k := range result.Kept {
		out.Kept = append(out.Kept, k.Path)
	}
	w.left(changes, out)
	restored := map[string]bool{}
	for _, path := range result.Restored {
		restored[path] = true
	}
	for _, c := range changes {
		if restored[c.Path] {
			data.Insertions += c.Insertions
			data.Deletions += c.Deletions
		}
	}
	return nil
}

// left says which files were left as they are, since another session may have changed them.
func (w *trip) left(changes []checkpoint.Change, out *Rewound) {
	by := map[string][]string{}
	for _, c := range changes {
		if other := w.others.By(c.Path); other != "" {
			by[other] = append(by[other], c.Path)
			out.Kept = append(out.Kept, c.Path)
		}
	}
	for _, other := range slices.Sorted(maps.Keys(by)) {
		names := by[other]
		if len(names) > 5 {
			names = append(slices.Clone(names[:5]), fmt.Sprintf("%d more", len(names)-5))
		}
		w.remark("left as they are, since session " + other + " worked here at the same time and may have changed them: " + strings.Join(names, ", "))
	}
}

// conversation moves the agent's conversation, and reports whether it did. An error
// means that nothing was changed at all; if files were, a note says why the
// conversation was not.
func (w *trip) conversation(ctx context.Context) (went bool, err error) {
	const stayed = "the conversation was left unchanged: "
	switch {
	case !w.talk:
		return false, nil // undo did not move it either
	case w.agent == nil && hasSnapshots(w.turn):
		w.remark(stayed + w.unable)
		return false, nil
	case w.agent == nil:
		return false, terret.Errorf(terret.CodeUnsupported, "cannot %s turn %s, which changed only the conversation: %s", w.direction, w.turn.ID, w.unable)
	case w.turn.MessageID == "":
		w.remark(stayed + "the agent started this turn itself, so it goes with the previous prompt")
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), travelTime)
	defer cancel()
	if w.direction == undo {
		err = w.agent.Rewind(ctx, w.turn.MessageID)
	} else {
		err = w.agent.Forward(ctx)
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, terret.ErrNotFound) && w.direction == undo:
		w.remark(stayed + "the agent does not know this prompt")
	case hasSnapshots(w.turn):
		w.remark(stayed + err.Error())
	default:
		return false, err
	}
	return false, nil
}

// tellLost says what undoing a turn does not take back. It is for people, so a failure
// is only logged: the files are back already.
func (e *Engine) tellLost(ctx context.Context, l *live, repo *checkpoint.Repo, t terret.Turn, out *Rewound) {
	lost, err := repo.Uncovered(ctx, checkpoint.ID(t.Before), checkpoint.ID(t.After), t.StartedAt.Time)
	if err != nil {
		l.log.Warn("could not find out what undo does not cover", "error", err)
	}
	for _, u := range lost {
		out.Lost = append(out.Lost, Lost(u))
	}
	ran := map[string]bool{} // commands, by the id of the call
	for entry, err := range e.hub.Entries(ctx, l.id, terret.KindToolPre, terret.KindToolFailure) {
		if err != nil {
			l.log.Warn("could not count the commands of a turn", "error", err)
			return
		}
		ev, err := entry.Decode()
		if err != nil || ev.Turn != t.ID {
			continue
		}
		switch d := ev.Data.(type) {
		case terret.ToolPre:
			if d.Class == terret.ClassExecute {
				ran[d.ToolID] = true
			}
		case terret.ToolFailure:
			if d.Denied {
				delete(ran, d.ToolID)
			}
		}
	}
	out.Commands = len(ran)
}
