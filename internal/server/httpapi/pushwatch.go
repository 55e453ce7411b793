package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/notify"
	"github.com/terret-dev/terret/internal/server/push"
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

// watchPush has subscribers told of what happens from now on.
func (s *Server) watchPush() {
	if pos, err := s.store.LastPos(s.life); err == nil { // if not, from a moment later
		s.pushFrom.CompareAndSwap(0, pos+1)
	}
	select {
	case s.pushWanted <- struct{}{}:
	default:
	}
}

// wantsPush reports whether a browser or a channel wants notifications, or may: what happens
// while that cannot be read is told later.
func (s *Server) wantsPush() bool {
	any, err := s.push.Book.Any(s.life)
	if err == nil && !any {
		var p notify.Page
		p, err = s.notify.Book.Read(s.life)
		any = len(p.Enabled()) > 0
	}
	if failed := err != nil; s.pushFailed.Swap(failed) != failed && failed && s.life.Err() == nil {
		s.log.Warn("cannot see who wants notifications", "error", err)
	}
	return any || err != nil
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

// followForPush adds what happens to the queues until nobody wants it any more. It reports
// whether the server or the engine has ended.
func (s *Server) followForPush() (ended bool) {
	if s.cfg.Home != "" {
		lock, err := files.TryOpenLocked(filepath.Join(s.cfg.Home, "push-watch.lock"))
		if err != nil {
			s.log.Warn("cannot send notifications", "error", err)
		}
		if lock == nil {
			return false
		}
		defer lock.Close()
	}
	defer s.pruneForPush()()
	if err := s.notify.Open(); err != nil {
		s.log.Warn("cannot send notifications", "error", err)
		return false
	}
	defer s.runNotify()()
	pos := s.pushFrom.Load() - 1
	for pos < 0 && s.life.Err() == nil {
		var err error
		if pos, err = s.store.LastPos(s.life); err != nil {
			pos = -1
			s.log.Debug("cannot see what to notify people of; trying again", "error", err)
			pause(s.life, time.Second)
		}
	}
	told := pos // browsers are told of what comes after it
	pos = s.notifyFrom(pos)
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
				if e.Pos > told {
					s.push.Add(topic)
				}
				s.addNotification(e)
			}
		}
	}
	return true
}

// pushTopic returns what an event may mean to a person who does not look.
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
			return push.Topic{}, false // the person who stopped it knows
		}
		t.Failed = nonEmpty(failed.Message, string(failed.Code))
	}
	return t, true
}

// tellsOf reports whether this server tells people of a session. In a fleet the session's
// node does; if that is not there, the first of those that are. If nobody knows, each does:
// a browser shows what several tell once.
func (s *Server) tellsOf(id string) bool {
	if s.fleet == nil {
		return true
	}
	session, err := s.store.Session(s.life, id)
	if err != nil || session.Node == s.cfg.Node {
		return !errors.Is(err, terret.ErrSessionNotFound)
	}
	nodes, err := s.fleet.Nodes(s.life)
	if err != nil {
		return true
	}
	return !hasNode(nodes, session.Node) && len(nodes) > 0 && nodes[0].Name == s.cfg.Node
}

func hasNode(nodes []terret.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n terret.Node) bool { return n.Name == name })
}

// pruneForPush removes subscriptions whose token or node has ended, now and then, also while
// there is nothing to send. The result ends that, and waits for it.
func (s *Server) pruneForPush() (stop func()) {
	ctx, cancel := context.WithCancel(s.life)
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if err := errors.Join(s.push.Prune(ctx), s.retireForPush(ctx)); err != nil && ctx.Err() == nil {
				s.log.Debug("cannot remove subscriptions that have ended", "error", err)
			}
			pause(ctx, lookForPush)
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// retireForPush removes the subscriptions of nodes that are gone for good.
func (s *Server) retireForPush(ctx context.Context) error {
	if s.fleet == nil {
		return nil
	}
	nodes, err := s.fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	return s.push.Book.Retire(ctx, func(name string) bool { return hasNode(nodes, name) })
}

// ofOtherNode reports whether only another node knows the token of a subscription.
func (s *Server) ofOtherNode(p push.Subscription) bool {
	return s.fleet != nil && p.Node != "" && p.Node != s.cfg.Node
}

// validPush reports whether the token that a subscription belongs to is still valid. The
// admin token of another node is that node's to judge.
func (s *Server) validPush(p push.Subscription) bool {
	if s.ofOtherNode(p) {
		return true
	}
	_, err := s.cfg.Tokens.Marked(p.Owner)
	return err == nil || terret.AsError(err).Code != terret.CodeUnauthorized
}

// pushSight returns which sessions the token of a subscription may see. The admin token of
// another node sees all while that node is there, which ends its subscription when it must.
func (s *Server) pushSight(ctx context.Context, p push.Subscription) (sees func(session string) bool, err error) {
	if s.ofOtherNode(p) {
		nodes, err := s.fleet.Nodes(ctx)
		there := hasNode(nodes, p.Node)
		return func(string) bool { return there }, err
	}
	who, err := s.cfg.Tokens.Marked(p.Owner)
	if err != nil && terret.AsError(err).Code == terret.CodeUnauthorized {
		return func(string) bool { return false }, nil
	}
	return func(session string) bool { return who.May(access.View, session) == nil }, err
}
