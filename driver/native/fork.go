package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
)

// lineage says how much of which sessions' logs belongs to a session's memory: of those
// that it was forked from, what came before that, and all of its own. The agent's own id
// of a session is its lineage without itself, such as "ses_a@17,ses_b@4"; one that was
// not forked has its own id.
type lineage map[string]int64

// lineageOf reads the agent's own id of a session.
func lineageOf(session, nativeID string) (lineage, error) {
	out := lineage{session: math.MaxInt64}
	if !strings.Contains(nativeID, "@") {
		return out, nil
	}
	for part := range strings.SplitSeq(nativeID, ",") {
		id, seq, _ := strings.Cut(part, "@")
		n, err := strconv.ParseInt(seq, 10, 64)
		if err != nil || id == "" || id == session {
			return nil, terret.Errorf(terret.CodeResumeFailed, "%q is not an id of a session of this agent", nativeID)
		}
		out[id] = n
	}
	return out, nil
}

// Fork implements terret.Forker. The copy reads our log up to here, or to the message.
func (a *agent) Fork(ctx context.Context, messageID string) (string, error) {
	if a.req.History == nil {
		return "", terret.Errorf(terret.CodeUnsupported, "there is no log to fork")
	}
	var at int64
	for entry, err := range a.req.History(ctx) {
		if err != nil {
			return "", err
		}
		if entry.Session != a.req.Session.ID {
			continue
		}
		found, err := isMessage(entry, messageID)
		if err != nil {
			return "", err
		}
		if messageID == "" || found {
			at = entry.Seq
		}
	}
	if at == 0 && messageID != "" {
		return "", terret.Errorf(terret.CodeNotFound, "there is no message %q in the session", messageID)
	}
	id := fmt.Sprintf("%s@%d", a.req.Session.ID, at)
	if before := string(a.req.Session.NativeID); strings.Contains(before, "@") {
		id = before + "," + id
	}
	return id, nil
}

// isMessage reports whether an entry is the message with that id.
func isMessage(entry terret.Entry, id string) (bool, error) {
	if id == "" || entry.Kind != terret.KindMessageComplete && entry.Kind != terret.KindTurnStart && entry.Kind != terret.KindUserPrompt {
		return false, nil
	}
	ev, err := entry.Decode()
	if err != nil {
		return false, err
	}
	switch d := ev.Data.(type) {
	case terret.MessageComplete:
		return d.MessageID == id, nil
	case terret.TurnStart:
		return d.MessageID == id, nil
	case terret.UserPrompt:
		return d.MessageID == id, nil
	}
	return false, nil
}

// remember rebuilds the conversation of a session that goes on, and says how it does. One
// whose origin is gone begins anew, unless the session forbids that.
func (a *agent) remember(ctx context.Context) (source string, err error) {
	s := a.req.Session
	if s.NativeID == "" {
		return "new", nil
	}
	line, err := lineageOf(s.ID, string(s.NativeID))
	if err != nil {
		return "", err
	}
	p, err := rebuild(ctx, a.req.History, line)
	switch {
	case err == nil && len(line) > 1 && !p.begun:
		source = "fork"
	case err == nil:
		source = "resume"
	case len(line) == 1 || !errors.Is(err, terret.ErrSessionNotFound) || a.req.Settings.OnStale == terret.OnStaleError:
		return "", err
	default:
		old := s.NativeID
		a.req.Session.NativeID = terret.NullString(s.ID)
		return "new", a.host.Emit(ctx, []terret.Event{{Data: terret.SessionNativeID{
			Old: old, New: s.ID, Reason: "stale", Error: "the session that it was forked from is gone, and what was said there with it",
		}}}, nil)
	}
	a.past = p
	return source, nil
}
