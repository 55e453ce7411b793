package hooks

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret"
)

// Limits of one call.
const (
	maxInput    = 8 << 20
	maxOutput   = 1 << 20
	dialTimeout = 500 * time.Millisecond
)

// Socket is where the server of that home listens.
func Socket(home string) string { return filepath.Join(home, "hook.sock") }

// Call gives a hook's input to the server at the socket, and returns what the hook must
// print. It waits as long as the hook may. Whatever goes wrong is an error, upon which the
// hook must say nothing, so that the agent goes on.
func Call(ctx context.Context, socket string, a Agent, event string, input io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(input, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxInput {
		return nil, terret.Invalid("input", "a hook's input has at most %d MB", maxInput>>20)
	}
	ctx, cancel := context.WithTimeout(ctx, a.interaction(event).Limit)
	defer cancel()
	dialer := net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://terret/"+a.Name+"/"+event, bytes.NewReader(body))
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
