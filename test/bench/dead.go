package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	deadReaders = 999 // all the streams that a server has, but one for the turns
	deadTurns   = 15
	largeEvents = 40
	largeEvent  = 4 << 20
	smallEvents = 100_000
)

// benchDeadReaders lets many open a stream of a long session and never read it, and
// looks at the server's memory and at the turns of another session meanwhile.
func benchDeadReaders(ctx context.Context, bin, home string) ([]row, error) {
	path := filepath.Join(home, "data", "terret.db")
	small, err := fillSession(ctx, path)
	if err != nil {
		return nil, err
	}
	large, err := fillLarge(ctx, path)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range []struct{ what, session string }{
		{fmt.Sprintf("%d readers that never read", deadReaders), small}, {"the same, of a session with events of 4 MB", large},
	} {
		s, err := serve(ctx, bin, home, mock.Script{Turns: [][]mock.Step{{{Text: "Hello."}}}})
		if err != nil {
			return nil, err
		}
		text, err := s.underDeadReaders(ctx, c.session)
		if err = errors.Join(err, s.stop()); err != nil {
			return nil, err
		}
		rows = append(rows, row{c.what, fmt.Sprintf("%s; %.0f MB at most, with what is mapped of the database", text, float64(maxRSS(s.cmd.ProcessState))/1e3), "300 MB"})
	}
	return rows, nil
}

// fillLarge makes a session with a few large events.
func fillLarge(ctx context.Context, path string) (id string, err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	logs, err := openLogs(ctx, s, 1)
	if err != nil {
		return "", err
	}
	for i := range largeEvents {
		ev := terret.Event{Time: terret.Now(), Data: terret.ToolProgress{ToolID: "tool", Text: strings.Repeat("x", largeEvent), ElapsedMS: int64(i)}}
		if err := commit(ctx, s, logs, []terret.Batch{logs[0].batch(ev)}); err != nil {
			return "", err
		}
	}
	return logs[0].id, nil
}

func (s *server) underDeadReaders(ctx context.Context, session string) (string, error) {
	id, err := s.session(ctx, "mock")
	if err != nil {
		return "", err
	}
	before, err := s.turns(ctx, id)
	if err != nil {
		return "", err
	}
	idle := resident(s.cmd.Process.Pid)
	conns := make([]net.Conn, 0, deadReaders)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	var dialer net.Dialer
	host := strings.TrimPrefix(s.url, "http://")
	for range deadReaders {
		c, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			return "", err
		}
		conns = append(conns, c)
		if _, err := fmt.Fprintf(c, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", session, host, s.token); err != nil {
			return "", err
		}
	}
	during, err := s.turns(ctx, id)
	if err != nil {
		return "", err
	}
	time.Sleep(3 * time.Second)
	held := resident(s.cmd.Process.Pid)
	for _, c := range conns {
		_ = c.Close()
	}
	conns = nil
	time.Sleep(3 * time.Second)
	return fmt.Sprintf("%.0f MB of its own, then %.0f MB, after they left %.0f MB; a turn of another session took %.1f ms, then %.1f ms",
		idle, held, resident(s.cmd.Process.Pid), ms(before), ms(during)), nil
}

// turns runs turns of a session and returns the median time that they took.
func (s *server) turns(ctx context.Context, id string) (time.Duration, error) {
	var took []time.Duration
	for range deadTurns {
		r, err := s.request(ctx, http.MethodPost, "/v1/sessions/"+id+"/turns", map[string]string{"prompt": "hello"})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := s.drain(r); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return medianTime(took), nil
}

// resident is the memory of a process that runs, in megabytes, without files that are
// mapped: those are the system's to give back.
func resident(pid int) (mb float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // not known on this system
	}
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "RssAnon: %f kB", &mb)
	}
	return mb / 1e3
}

// fillSession makes a session with many events, as they are on average.
func fillSession(ctx context.Context, path string) (id string, err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	logs, err := openLogs(ctx, s, 1)
	if err != nil {
		return "", err
	}
	const batch = 500
	for range smallEvents / batch {
		events := make([]terret.Event, batch)
		for i := range events {
			events[i] = terret.Event{Time: terret.Now(), Data: terret.ToolProgress{ToolID: "tool", Text: words[:150], ElapsedMS: int64(i)}}
		}
		if err := commit(ctx, s, logs, []terret.Batch{logs[0].batch(events...)}); err != nil {
			return "", err
		}
	}
	return logs[0].id, nil
}
