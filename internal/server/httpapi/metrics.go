package httpapi

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// metrics counts what the server does.
type metrics struct {
	began   time.Time
	events  atomic.Int64 // sent on streams
	streams atomic.Int64 // that have ended
	cuts    atomic.Int64 // streams cut because the reader did not read

	mu       sync.Mutex
	requests map[requestLabels]requestCount
}

type requestLabels struct {
	method, route string
	status        int
}

type requestCount struct {
	n    int64
	took time.Duration
}

func (m *metrics) init() {
	m.began = time.Now()
	m.requests = map[requestLabels]requestCount{}
}

func (m *metrics) request(method, pattern string, status int, took time.Duration) {
	_, path, ok := strings.Cut(pattern, " ")
	if !ok { // not one of our routes: unbounded, so not named
		method, path = "", "other"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := requestLabels{method, path, status}
	c := m.requests[l]
	m.requests[l] = requestCount{c.n + 1, c.took + took}
}

func (m *metrics) streamed(cut bool) {
	m.streams.Add(1)
	if cut {
		m.cuts.Add(1)
	}
}

// exposition is text in the format that Prometheus reads.
type exposition struct{ bytes.Buffer }

func (e *exposition) family(name, kind, help string) {
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposition) one(name, kind, help string, v float64) {
	e.family(name, kind, help)
	fmt.Fprintf(e, "%s %s\n", name, strconv.FormatFloat(v, 'g', -1, 64))
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if err := access.From(ctx).May(access.View, ""); err != nil {
		writeProblem(w, err)
		return
	}
	open, err := s.store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen, Limit: 1000})
	if err != nil {
		writeProblem(w, err)
		return
	}
	working, err := s.store.CountSessions(ctx, workingStates...)
	if err != nil {
		writeProblem(w, err)
		return
	}
	var e exposition
	s.metrics.write(&e)
	e.one("terret_streams", "gauge", "Open event streams.", float64(s.streams.Load()))
	e.one("terret_open_requests", "gauge", "Requests that wait for a decision, at most 1000.", float64(len(open.Items)))
	e.one("terret_working_sessions", "gauge", "Sessions with a running turn.", float64(working))
	if err := s.fleetMetrics(ctx, &e); err != nil {
		writeProblem(w, err)
		return
	}
	e.one("go_goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine()))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(e.Bytes())
}

func (m *metrics) write(e *exposition) {
	m.mu.Lock()
	requests := maps.Clone(m.requests)
	m.mu.Unlock()
	labels := slices.SortedFunc(maps.Keys(requests), func(a, b requestLabels) int {
		return strings.Compare(a.route+" "+a.method+strconv.Itoa(a.status), b.route+" "+b.method+strconv.Itoa(b.status))
	})
	series := func(name string, value func(requestCount) float64) {
		for _, l := range labels {
			fmt.Fprintf(e, "%s{method=%q,route=%q,code=\"%d\"} %s\n", name, l.method, l.route, l.status, strconv.FormatFloat(value(requests[l]), 'g', -1, 64))
		}
	}
	e.family("terret_http_requests_total", "counter", "Answered requests.")
	series("terret_http_requests_total", func(c requestCount) float64 { return float64(c.n) })
	e.family("terret_http_request_seconds_total", "counter", "Time spent answering requests, including streams.")
	series("terret_http_request_seconds_total", func(c requestCount) float64 { return c.took.Seconds() })
	e.one("terret_stream_events_total", "counter", "Events that passed through streams.", float64(m.events.Load()))
	e.one("terret_streams_ended_total", "counter", "Ended streams.", float64(m.streams.Load()))
	e.one("terret_streams_cut_total", "counter", "Streams cut because the reader did not read.", float64(m.cuts.Load()))
	e.one("process_start_time_seconds", "gauge", "When the server started.", float64(m.began.UnixMilli())/1000)
}
