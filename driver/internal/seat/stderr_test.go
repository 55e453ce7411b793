package seat

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// host keeps the lines that it is told.
type host struct {
	terret.Host
	lines []string
}

func (h *host) Emit(_ context.Context, events []terret.Event, _ []byte) error {
	for _, ev := range events {
		h.lines = append(h.lines, ev.Data.(terret.DiagStderr).Text)
	}
	return nil
}

func TestStderr(t *testing.T) {
	t.Parallel()
	var own bytes.Buffer
	l := &stderr{own: slog.New(slog.NewTextHandler(&own, nil)), redact: redact.New(map[string]string{"KEY": "hush-hush"})}
	l.line("early, with hush-hush")
	var h host
	l.to(&h)
	l.line("late")
	if diff := cmp.Diff([]string{"early, with [redacted:KEY]", "late"}, h.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for i := range mostStderr + 50 {
		l.line(fmt.Sprint("flood ", i))
	}
	if n := len(h.lines); n != mostStderr+1 || !strings.Contains(h.lines[n-1], "Terret's own log") {
		t.Errorf("the session got %d lines, the last %q", n, h.lines[n-1])
	}
	if n := strings.Count(own.String(), "flood"); n != mostStderr+50 {
		t.Errorf("Terret's own log has %d lines", n)
	}
	if strings.Contains(own.String(), "hush-hush") {
		t.Error("Terret's own log holds a secret")
	}
}
