package hooks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret"
)

// Limits of one call.
const (
	maxInput     = 8 << 20
	maxOutput    = 1 << 20
	dialTimeout  = 500 * time.Millisecond
	takePatience = 2 * time.Second  // until the server says that it has taken the input
	awayPatience = 30 * time.Second // in which nobody asks again a server that has not
)

var (
	// ErrHangs says that the server is there and has not answered in time, for the first time
	// since it last did.
	ErrHangs = errors.New("the server does not answer")
	// ErrAway says that it has not answered before either.
	ErrAway = errors.New("the server still does not answer")

	errNotTaken = errors.New("the server has not taken the input in time")
)

// Socket is where the server of that home listens.
func Socket(home string) string { return filepath.Join(home, "hook.sock") }

// awayFile is there while the server does not answer, since its time of change.
func awayFile(home string) string { return filepath.Join(home, "hook.away") }

// Call gives a hook's input to the server of that home, and returns what the hook must print.
// It waits as long as the hook may once the server has said that it has taken the input, and
// only a moment before. After a server that has not answered, others fail at once for a while.
// Whatever goes wrong is an error, upon which the hook must say nothing, so that the agent
// goes on.
func Call(ctx context.Context, home string, a Agent, event string, input io.Reader) ([]byte, error) {
	return call(ctx, home, a, event, input, func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop })
}

// call is Call with another clock.
func call(ctx context.Context, home string, a Agent, event string, input io.Reader, after func(time.Duration, func()) (stop func() bool)) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(input, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxInput {
		return nil, terret.Invalid("input", "a hook's input has at most %d MB", maxInput>>20)
	}
	was, statErr := os.Stat(awayFile(home))
	if statErr == nil && time.Since(was.ModTime()).Abs() < awayPatience {
		return nil, ErrAway
	}
	about := a.interaction(event)
	ctx, hangs := context.WithCancelCause(ctx)
	defer hangs(nil)
	limited, cancel := context.WithTimeout(ctx, about.Limit)
	defer cancel()
	taken := after(takePatience, func() { hangs(errNotTaken) })
	defer taken()
	out, err := ask(limited, home, "http://terret/"+a.Name+"/"+event, body, func() { taken() })
	switch {
	case err == nil:
		if statErr == nil {
			_ = os.Remove(awayFile(home))
		}
	case errors.Is(context.Cause(ctx), errNotTaken), !about.Decides && errors.Is(limited.Err(), context.DeadlineExceeded):
		if os.WriteFile(awayFile(home), nil, 0o600) == nil && statErr != nil {
			return nil, ErrHangs
		}
		now := time.Now()
		_ = os.Chtimes(awayFile(home), now, now)
		return nil, ErrAway
	}
	return out, err
}

// ask makes one request, and says when the server has taken it.
func ask(ctx context.Context, home, url string, body []byte, taken func()) ([]byte, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", Socket(home))
		},
		DisableKeepAlives: true, DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
		if code == http.StatusProcessing {
			taken()
		}
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err == nil && (resp.StatusCode != http.StatusOK || len(out) > maxOutput) {
		err = terret.Errorf(terret.CodeConnectionFailed, "the server answered %s: %.200s", resp.Status, out)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
