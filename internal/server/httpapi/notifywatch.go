package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/notify"
)

const (
	maxNotifyShown = 1500 // bytes of what a tool is given; what is longer is not allowed from a message
	notifyTries    = 5    // to keep what happens
)

// newNotifier makes the queue of what channels are told. It is nil if there is nowhere to keep
// them.
func (s *Server) newNotifier() *notify.Queue {
	book := &notify.Book{Home: s.cfg.Home}
	if s.fleet != nil {
		book.Shared = s.fleet
	} else if s.cfg.Home == "" {
		return nil
	}
	return &notify.Queue{
		Book: book, Clients: notify.NewClients(), Home: s.cfg.Home, Gather: s.limits.PushGather, Message: s.notifyMessage, Log: s.log,
	}
}

// runNotify sends what waits. The result ends that, and waits for it.
func (s *Server) runNotify() (stop func()) {
	ctx, cancel := context.WithCancel(s.life)
	var done sync.WaitGroup
	done.Go(func() { s.notify.Run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// notifyFrom returns the position after which somebody was not told yet, where browsers are
// told of what comes after pos.
func (s *Server) notifyFrom(pos int64) int64 {
	from, any, err := s.notify.From(s.life)
	if err != nil && s.life.Err() == nil {
		s.log.Warn("cannot see which channels were told of what", "error", err)
	}
	if err == nil && any {
		return min(pos, from)
	}
	return pos
}

// addNotification has channels told of an event that a person may have to know.
func (s *Server) addNotification(e terret.Entry) {
	var event struct {
		Turn    string      `json:"turn"`
		Time    terret.Time `json:"time"`
		Expects struct {
			Request string `json:"request_id"`
		} `json:"expects"`
		Data struct {
			Error *terret.Error `json:"error"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Body, &event); err != nil {
		return
	}
	o := notify.Occurrence{Event: notify.Needs, Session: e.Session, Turn: event.Turn, Request: event.Expects.Request, At: event.Time}
	if failed := event.Data.Error; e.Kind == terret.KindTurnError {
		o.Event = notify.Failed
		if failed != nil {
			o.Failure = pushLine(nonEmpty(failed.Message, string(failed.Code)), maxPushBody)
			if failed.Code == terret.CodeMaxBudget {
				o.Event = notify.Budget
			}
		}
	} else if e.Kind == terret.KindTurnComplete {
		o.Event = notify.Done
	}
	var err error
	for range notifyTries {
		if err = s.notify.Add(s.life, e.Pos, o); err == nil || s.life.Err() != nil {
			return
		}
		pause(s.life, time.Second)
	}
	s.log.Error("channels of notification are not told: what happens cannot be kept", "session", e.Session, "error", err)
}

// peopleAt is the address at which people reach this server; empty if nobody said.
func (s *Server) peopleAt(p notify.Page) string {
	if p.Base == "" && len(s.cfg.Origins) > 0 {
		return s.cfg.Origins[0]
	}
	return p.Base
}

// notifyMessage says what is still true of a delivery. People are told what browsers are;
// programs also of ends that somebody has seen.
func (s *Server) notifyMessage(ctx context.Context, p notify.Page, c notify.Channel, d notify.Delivery) (m notify.Message, tell bool, err error) {
	session, err := s.store.Session(ctx, d.Session)
	if errors.Is(err, terret.ErrSessionNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m.Title = pushLine(pushTitle(session), maxPushTitle)
	at := s.peopleAt(p)
	if at != "" {
		m.Link = at + "/s/" + session.ID
	}
	if d.Event == notify.Needs {
		r, err := s.store.Request(ctx, d.Request)
		if err != nil && terret.AsError(err).Code == terret.CodeNotFound || err == nil && r.State != terret.RequestOpen {
			return m, false, nil
		}
		if err != nil {
			return m, false, err
		}
		m.Urgent, m.Text = true, pushLine(pushNeeds([]terret.Request{r}), maxPushBody)
		if c.Answers && at != "" && r.Gate == terret.GatePermission {
			offerAnswers(&m, p, c, r)
			m.AnswerURL = at + answerPath
		}
		return m, true, nil
	}
	if c.Kind == notify.Ntfy {
		marks, err := s.marks(ctx)
		if err != nil {
			return m, false, err
		}
		if isPast(session, marks, d.At.Time) {
			return m, false, nil
		}
	}
	switch d.Event {
	case notify.Failed:
		m.Text = pushLine("Failed: "+d.Failure, maxPushBody)
	case notify.Budget:
		m.Text = pushLine("Stopped: "+d.Failure, maxPushBody)
	default:
		m.Text = "Finished."
	}
	return m, true, nil
}

// offerAnswers has a message say what a tool is given, and lets it be allowed and denied. What
// cannot be shown whole cannot be allowed.
func offerAnswers(m *notify.Message, p notify.Page, c notify.Channel, r terret.Request) {
	var asked terret.PermissionRequest
	if json.Unmarshal(r.Data, &asked) != nil {
		return
	}
	until := time.Now().Add(notify.GrantLife)
	if r.ExpiresAt != nil && r.ExpiresAt.Before(until) {
		until = r.ExpiresAt.Time
	}
	offer := func(label string, b terret.Behavior) {
		m.Answers = append(m.Answers, notify.Answer{Label: label, Token: p.Token(notify.Grant{
			Channel: c.ID, Request: r.RequestID, Behavior: b, InputHash: asked.InputHash, Expires: until.Unix(),
		})})
	}
	var input bytes.Buffer
	err := json.Compact(&input, asked.Input)
	shown := asked.Tool + ": " + input.String()
	if err == nil && len(shown) <= maxNotifyShown && !strings.ContainsFunc(shown, isHidden) {
		m.Text += "\n" + shown
		offer("Allow", terret.BehaviorAllow)
	} else {
		m.Text += "\nOpen Terret to see it whole, which is too long or too strange for here."
	}
	offer("Deny", terret.BehaviorDeny)
}

// isHidden reports whether a character changes how others are shown.
func isHidden(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }
