package httpapi

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/access"
	"github.com/terret-dev/terret/internal/lockfile"
	"github.com/terret-dev/terret/internal/push"
)

// lookForPush is how often a server looks whether another one has got a subscription, or
// has stopped.
const lookForPush = time.Minute

// newPusher makes the queue of notifications. It is nil if there is nowhere to keep who
// wants them.
func (s *Server) newPusher() *push.Queue {
	book := &push.Book{Home: s.cfg.Home}
	if s.fleet != nil {
		book.Shared = s.fleet
	} else if s.cfg.Home == "" {
		return nil
	}
	client := s.cfg.PushClient
	if client == nil {
		client = push.NewClient()
	}
	return &push.Queue{
		Book: book, Client: client, Gather: s.limits.PushGather, Spacing: s.limits.PushSpacing,
		Valid: s.validPush, Notes: s.pushNotes, Log: s.log,
	}
}

// startPush sends notifications in the background: of what happens from now on, if somebody
// wants them.
func (s *Server) startPush() {
	if s.push == nil {
		return
	}
	if s.wantsPush() {
		s.watchPush()
	}
	s.background.Go(func() { s.push.Run(s.life) })
	s.background.Go(s.watchForPush)
}

// watchPush has somebody told of what happens from now on.
func (s *Server) watchPush() {
	pos, err := s.store.LastPos(s.life)
	if err != nil {
		return // then from a moment later
	}
	s.pushFrom.CompareAndSwap(0, pos+1)
	select {
	case s.pushWanted <- struct{}{}:
	default:
	}
}

func (s *Server) wantsPush() bool {
	any, err := s.push.Book.Any(s.life)
	if err != nil && s.life.Err() == nil {
		s.log.Warn("cannot see who wants notifications", "error", err)
	}
	return any
}

// watchForPush follows all sessions while somebody wants notifications, if no other server
// of this data folder does.
func (s *Server) watchForPush() {
	look := time.NewTicker(lookForPush)
	defer look.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-look.C:
		case <-s.pushWanted:
		}
		if s.wantsPush() && s.followForPush() {
			return
		}
		s.pushFrom.Store(0)
	}
}

// followForPush adds what happens to the queue until nobody wants it any more. It reports
// whether the server or the engine has ended.
func (s *Server) followForPush() (ended bool) {
	if s.cfg.Home != "" {
		lock, err := lockfile.TryOpen(filepath.Join(s.cfg.Home, "push-watch.lock"))
		if err != nil {
			s.log.Warn("cannot send notifications", "error", err)
		}
		if lock == nil {
			return false
		}
		defer lock.Close()
	}
	pos := s.pushFrom.Load() - 1
	if pos < 0 {
		var err error
		if pos, err = s.store.LastPos(s.life); err != nil {
			return s.life.Err() != nil
		}
	}
	for s.life.Err() == nil {
		for e, err := range s.engine.AllEvents(s.life, engine.AllQuery{After: pos, Follow: true}) {
			if engine.IsClosed(err) {
				return true
			}
			if err != nil {
				s.log.Debug("cannot see what to notify people of; trying again", "error", err)
				pause(s.life, time.Second)
				break
			}
			pos = e.Pos
			topic, ok := pushTopic(e)
			if ok && !s.wantsPush() {
				return false
			}
			if ok && s.tellsOf(e.Session) {
				s.push.Add(topic)
			}
		}
	}
	return true
}

// pushTopic returns what an event may mean to somebody who does not look.
func pushTopic(e terret.Entry) (push.Topic, bool) {
	if e.Kind != terret.KindTurnComplete && e.Kind != terret.KindTurnError {
		// An unescaped quote is never inside a string, and the data comes last.
		head, _, _ := bytes.Cut(e.Body, []byte(`,"data":`))
		return push.Topic{Session: e.Session, At: time.Now()}, bytes.Contains(head, []byte(`,"expects":{`))
	}
	var end struct {
		Time terret.Time `json:"time"`
		Data struct {
			Error *terret.Error `json:"error"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Body, &end); err != nil {
		return push.Topic{}, false
	}
	t := push.Topic{Session: e.Session, Ended: true, At: end.Time.Time}
	if failed := end.Data.Error; failed != nil {
		if failed.Code == terret.CodeInterrupted || failed.Code == terret.CodeKilled {
			return push.Topic{}, false // whoever stopped it knows
		}
		t.Failed = nonEmpty(failed.Message, string(failed.Code))
	}
	return t, true
}

// tellsOf reports whether this server tells people of a session. In a fleet the session's
// node does; if that is not there, the first of those that are.
func (s *Server) tellsOf(id string) bool {
	if s.fleet == nil {
		return true
	}
	session, err := s.store.Session(s.life, id)
	if err != nil || session.Node == s.cfg.Node {
		return err == nil
	}
	nodes, err := s.fleet.Nodes(s.life)
	if err != nil || slices.ContainsFunc(nodes, func(n terret.Node) bool { return n.Name == session.Node }) {
		return false
	}
	return len(nodes) > 0 && nodes[0].Name == s.cfg.Node
}

// validPush reports whether the token that a subscription belongs to is still valid. The
// admin token of another node is that node's to judge.
func (s *Server) validPush(p push.Subscription) bool {
	if p.Node != "" && p.Node != s.cfg.Node {
		return true
	}
	_, err := s.cfg.Tokens.Marked(p.Owner)
	return err == nil || terret.AsError(err).Code != terret.CodeUnauthorized
}

// seesPush reports whether the token of a subscription may see a session.
func (s *Server) seesPush(p push.Subscription, session string) bool {
	if p.Node != "" && p.Node != s.cfg.Node {
		return true
	}
	who, err := s.cfg.Tokens.Marked(p.Owner)
	return err == nil && who.May(access.View, session) == nil
}
