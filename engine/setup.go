package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Setup is a command that readies the folder of a session before the agent works in it.
type Setup struct {
	Command string
	// Run runs it until it ends, or the context does, and passes its output on. An error says
	// why it failed. It is not called again once it has returned, unless the context had ended.
	Run func(ctx context.Context, output func(text string)) error
}

// setupName is what the command is called in the log.
const setupName = "Setup"

// Bounds of what goes into the log while a setup command runs, and how long that may be.
const (
	maxSetupPieces = 200
	maxSetupText   = 64 << 10
	setupLimit     = 15 * time.Minute
)

// setUp runs what is to be run in the folder before the turn, as a tool use of the turn. A
// failure is told, and the turn goes on: the agent may be able to mend it. The error is that
// of a turn that was stopped meanwhile.
func (e *Engine) setUp(l *live, t *turn) error {
	if e.cfg.Setup == nil {
		return nil
	}
	s := e.cfg.Setup(l.sessionCopy())
	if s == nil {
		return nil
	}
	id := terret.NewID("set_")
	input, err := json.Marshal(map[string]string{"command": s.Command})
	if err != nil {
		return err
	}
	l.tell(t, terret.ToolPre{ToolID: id, Name: setupName, Class: terret.ClassExecute, Input: input, Title: "Set up the worktree"})
	began, pieces, room := time.Now(), 0, maxSetupText
	var last strings.Builder
	ctx, cancel := context.WithTimeoutCause(t.ctx, setupLimit, fmt.Errorf("it did not end within %d minutes and was stopped", int(setupLimit.Minutes())))
	defer cancel()
	err = s.Run(ctx, func(text string) {
		if pieces++; pieces > maxSetupPieces || len(text) > room {
			return
		}
		room -= len(text)
		last.WriteString(text)
		l.tell(t, terret.ToolProgress{ToolID: id, Text: text, ElapsedMS: time.Since(began).Milliseconds()})
	})
	spent := time.Since(began).Milliseconds()
	switch {
	case t.ctx.Err() != nil:
		l.tell(t, terret.ToolFailure{ToolID: id, Name: setupName, Error: "stopped; it runs again before the next turn", Interrupted: true, DurationMS: spent})
		return context.Cause(t.ctx)
	case err != nil:
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = context.Cause(ctx)
		}
		l.tell(t, terret.ToolFailure{ToolID: id, Name: setupName, Error: err.Error(), DurationMS: spent},
			terret.DiagWarning{Text: fmt.Sprintf("The setup command of this worktree failed, and the agent works in it as it is. Have the agent mend that, or change worktree.setup in the configuration for the next one. The command: %s", s.Command)})
		return nil
	}
	l.tell(t, terret.ToolPost{ToolID: id, Name: setupName, Content: []terret.Block{terret.Text(last.String())}, DurationMS: spent})
	return nil
}

// tell writes what happens in a turn before its agent has it.
func (l *live) tell(t *turn, data ...terret.Data) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || l.phase == settling || l.why != nil {
		return // it was killed meanwhile
	}
	var out []terret.Event
	for _, d := range data {
		out = l.put(out, terret.Event{Data: d})
	}
	t.heard = time.Now()
	l.write(out, nil)
}
