package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	viewers      = 1000
	viewedEvents = 300
	replayed     = 100_000
	replayRounds = 5
)

// benchViewers lets many watch one session, and checks that each gets every event.
func benchViewers(ctx context.Context, bin, home string) ([]row, error) {
	steps := make([]mock.Step, viewedEvents)
	for i := range steps {
		steps[i] = mock.Step{Event: &mock.RawEvent{Kind: terret.KindToolProgress, Data: terret.JSON(`{"tool_id":"t","elapsed_ms":` + strconv.Itoa(i+1) + `}`)}}
	}
	s, err := serve(ctx, bin, home, mock.Script{Turns: [][]mock.Step{steps}})
	if err != nil {
		return nil, err
	}
	took, events, err := watchTogether(ctx, s)
	if err = errors.Join(err, s.stop()); err != nil {
		return nil, err
	}
	cpu := s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
	return []row{{
		"1,000 viewers of one busy session",
		fmt.Sprintf("each got all %d events; %.0f events/s in all; %.1f µs CPU of the server for each, its start included; %.0f MB at most",
			events, float64(viewers*events)/took.Seconds(), float64(cpu.Microseconds())/float64(viewers*events), float64(maxRSS(s.cmd.ProcessState))/1e3), "all",
	}}, nil
}

// watchTogether opens all viewers, runs a turn, and returns how long it took until all
// had seen its end, and how many events that were.
func watchTogether(ctx context.Context, s *server) (took time.Duration, events int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id, err := s.session(ctx, "mock")
	if err != nil {
		return 0, 0, err
	}
	path := "/v1/sessions/" + id
	streams := make([]io.ReadCloser, viewers)
	defer func() {
		for _, stream := range streams {
			if stream != nil {
				_ = stream.Close()
			}
		}
	}()
	for i := range streams {
		r, err := s.request(ctx, http.MethodGet, path+"/events", nil)
		if err != nil {
			return 0, 0, err
		}
		if streams[i], err = s.events(r); err != nil {
			return 0, 0, err
		}
	}
	last := make(chan int64, 1) // the number of the turn's last event
	began := time.Now()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		n, err := s.runTurn(ctx, id)
		if err != nil {
			cancel()
		}
		last <- n
	})
	until := sync.OnceValue(func() int64 { return <-last })
	err = together(viewers, func(i int) error {
		lines := bufio.NewReaderSize(streams[i], 16<<10)
		for want := int64(1); ; want++ {
			got, err := nextNumber(lines)
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("a viewer got event %d after %d", got, want-1)
			}
			if want > viewedEvents && want == until() {
				return nil
			}
		}
	})
	return time.Since(began), until(), err
}

// runTurn runs a turn to its end and returns the session's last number.
func (s *server) runTurn(ctx context.Context, session string) (int64, error) {
	path := "/v1/sessions/" + session
	if err := s.do(ctx, http.MethodPost, path+"/turns", map[string]string{"prompt": "go"}, nil); err != nil {
		return 0, err
	}
	for {
		var now terret.Session
		if err := s.do(ctx, http.MethodGet, path, nil, &now); err != nil {
			return 0, err
		}
		if now.State == terret.SessionIdle && now.LastSeq > viewedEvents {
			return now.LastSeq, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// benchReplayHTTP reads a long session over HTTP, and beside it the same bytes over a
// bare socket.
func benchReplayHTTP(ctx context.Context, bin, home string) (rows []row, err error) {
	id, err := fillSession(ctx, filepath.Join(home, "data", "terret.db"))
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, bin, home, mock.Script{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var ours, plain []float64
	for range replayRounds {
		size, took, err := s.replay(ctx, id)
		if err != nil {
			return nil, err
		}
		ours = append(ours, replayed/took.Seconds())
		if took, err = copyOverLoopback(ctx, size); err != nil {
			return nil, err
		}
		plain = append(plain, replayed/took.Seconds())
	}
	a, b := median(ours), median(plain)
	return []row{{
		"replay of 100,000 events over server-sent events, one reader",
		fmt.Sprintf("%.0f events/s; the same bytes over a bare socket %.0f: ratio %.2f", a, b, a/b), "400,000 events/s",
	}}, nil
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
	for range replayed / batch {
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

// replay reads all events of a session, and returns how many bytes they are.
func (s *server) replay(ctx context.Context, id string) (size int64, took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := s.request(ctx, http.MethodGet, "/v1/sessions/"+id+"/events", nil)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	stream, err := s.events(r)
	if err != nil {
		return 0, 0, err
	}
	defer stream.Close()
	counted := &countingReader{r: stream}
	lines := bufio.NewReaderSize(counted, 256<<10)
	for want := int64(1); want <= replayed; want++ {
		got, err := nextNumber(lines)
		if err != nil {
			return 0, 0, err
		}
		if got != want {
			return 0, 0, fmt.Errorf("event %d came after %d", got, want-1)
		}
	}
	return counted.n, time.Since(began), nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// copyOverLoopback takes the time that so many bytes need over a socket.
func copyOverLoopback(ctx context.Context, size int64) (took time.Duration, err error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // it may be closed already
	var sent error
	var group sync.WaitGroup
	group.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			sent = err
			return
		}
		block := make([]byte, 256<<10)
		for left := size; left > 0 && sent == nil; left -= int64(len(block)) {
			_, sent = conn.Write(block[:min(left, int64(len(block)))])
		}
		sent = errors.Join(sent, conn.Close())
	})
	var dialer net.Dialer
	began := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", l.Addr().String())
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 256<<10))
		err = errors.Join(err, conn.Close())
	} else {
		_ = l.Close()
	}
	took = time.Since(began)
	group.Wait()
	return took, errors.Join(err, sent)
}
