package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/policy"
	"github.com/terret-dev/terret/view"
)

// names is a list of tools: a list, or one text with commas in which "default" means
// all.
type names []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = names{}
		if one == "default" {
			*n = names{policy.AllTools}
			return nil
		}
		for part := range strings.SplitSeq(one, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*n = append(*n, part)
			}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

// harnessOptions are the options of a turn, with their older names.
type harnessOptions struct {
	PermissionMode           string `json:"permissionMode"`
	Tools                    names  `json:"tools"`
	DisallowedTools          names  `json:"disallowedTools"`
	AutoApproveTools         names  `json:"autoApproveTools"`
	ToolsOverride            names  `json:"toolsOverride"`
	DisallowedToolsOverride  names  `json:"disallowedToolsOverride"`
	AutoApproveToolsOverride names  `json:"autoApproveToolsOverride"`
	MaxTurns                 int    `json:"maxTurns"`
	SystemPromptAppend       string `json:"systemPromptAppend"`
	Verbose                  *bool  `json:"verbose"` // ignored: what it asks for is always there
	IncludePartialMessages   *bool  `json:"includePartialMessages"`
}

func (o harnessOptions) options() (terret.TurnOptions, error) {
	if o.PermissionMode != "" && !slices.Contains([]string{"default", "acceptEdits", "dontAsk", "plan", "auto"}, o.PermissionMode) {
		return terret.TurnOptions{}, terret.Invalid("opts.permissionMode", "unknown mode %q; use default, acceptEdits, dontAsk, plan or auto", o.PermissionMode)
	}
	return terret.TurnOptions{
		PermissionMode: o.PermissionMode, Tools: o.Tools, DisallowedTools: o.DisallowedTools, AutoApproveTools: o.AutoApproveTools,
		ToolsOverride: o.ToolsOverride, DisallowedToolsOverride: o.DisallowedToolsOverride, AutoApproveToolsOverride: o.AutoApproveToolsOverride,
		MaxTurns: o.MaxTurns, SystemAppend: o.SystemPromptAppend, Partial: o.IncludePartialMessages,
	}, nil
}

func (s *Server) harnessTurn(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	var in struct {
		SessionID string         `json:"sessionId"`
		Message   string         `json:"message"`
		Opts      harnessOptions `json:"opts"`
	}
	if err := readBody(r, &in); err != nil {
		return err
	}
	session, err := s.session(ctx, in.SessionID)
	if err != nil {
		return err
	}
	if err := s.stopping(); err != nil {
		return err
	}
	n := newTurn{Prompt: in.Message}
	if n.Options, err = in.Opts.options(); err != nil {
		return err
	}
	if err := s.checkTurn(ctx, n); err != nil {
		return err
	}
	if err := s.mayWork(ctx, session); err != nil {
		return err
	}
	release, err := s.slot(r.Context())
	if err != nil {
		return err
	}
	defer release()
	turn, err := s.engine.Prompt(ctx, engine.PromptRequest{Session: session.ID, Prompt: n.prompt(), By: caller(ctx)})
	if err != nil {
		return err
	}
	s.background.Go(func() { s.refuseAll(session.ID, turn.ID, session.LastSeq) })
	v, err := view.New("chirality", view.Options{Session: session})
	if err != nil {
		return err
	}
	end := func(b []byte, why error) []byte { return appendHarnessEnd(b, session.ID, false, why) }
	s.streaming(w, r, sse.ContentType, s.stillAllowed(ctx, access.From(ctx), end), func(ctx context.Context, st *stream) error {
		return s.sendHarnessTurn(ctx, st, v, session, turn.ID)
	})
	return nil
}

// errNoExit ends the wait for a process after its turn.
var errNoExit = errors.New("the process has not ended")

// sendHarnessTurn sends a turn in the older dialect: one line of data for each message.
// process:exit is always the last, even if nothing reports it.
func (s *Server) sendHarnessTurn(reader context.Context, st *stream, v view.View, session terret.Session, turn string) error {
	ctx, stop := context.WithCancelCause(reader)
	defer stop(nil)
	over := false
	for e, err := range s.events(ctx, session.ID, 0) {
		if err != nil && reader.Err() == nil {
			// The agent is not a process, or hangs; the session was deleted; or the
			// server is stopping.
			return st.send(func(b []byte) []byte { return appendHarnessEnd(b, session.ID, over, err) })
		}
		if err != nil {
			return err
		}
		ev, err := e.Decode()
		if err != nil {
			return err
		}
		messages := v.Event(ev)
		if e.Seq <= session.LastSeq || e.Kind == terret.KindTurnStart && ev.Turn == turn {
			continue // of earlier turns
		}
		if e.Kind.EndsTurn() && ev.Turn == turn {
			over = true
			timer := time.AfterFunc(s.limits.Exit, func() { stop(errNoExit) })
			defer timer.Stop()
		}
		done := false
		err = st.send(func(b []byte) []byte {
			for _, m := range messages {
				b = sse.Append(b, "", "", m.Data)
				if done = over && m.Name == "process:exit"; done {
					break
				}
			}
			return b
		})
		if err != nil || done {
			return err
		}
	}
	return nil
}

// appendHarnessEnd reports the end of a turn that nothing more is heard of. If it is
// not over, it had no result.
func appendHarnessEnd(b []byte, session string, over bool, why error) []byte {
	say := func(message map[string]any) {
		message["sessionId"] = session
		if line, err := jsonLine(message); err == nil {
			b = sse.Append(b, "", "", line)
		}
	}
	if !over {
		say(map[string]any{"type": "session:error", "error": problemOf(why).Detail})
	}
	say(map[string]any{"type": "process:exit", "code": nil, "signal": nil})
	return b
}

// refuseAll refuses every request of a turn at once, whether or not anybody watches:
// these routes have nobody to ask.
func (s *Server) refuseAll(session, turn string, after int64) {
	for e, err := range s.events(s.life, session, after) {
		if err != nil || e.Kind.EndsTurn() && turnOf(e) == turn {
			return
		}
		if !strings.HasSuffix(string(e.Kind), ".request") && e.Kind != terret.KindHookEvent {
			continue
		}
		ev, err := e.Decode()
		if err != nil || ev.Expects == nil {
			continue
		}
		err = s.engine.Decide(s.life, terret.Decision{
			RequestID: ev.Expects.RequestID, Behavior: ev.Expects.Gate.Refusal(), Source: terret.ByPolicy, By: "harness", Reason: "nobody to ask",
		})
		if err != nil && !errors.Is(err, terret.ErrAlreadyDecided) && s.life.Err() == nil {
			s.log.Warn("could not refuse a request", "request", ev.Expects.RequestID, "error", err)
		}
	}
}
