package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/sse"
)

const (
	// eventLimit bounds one event, in bytes.
	eventLimit = 256 << 20
	// silence is how long a stream may say nothing. A server that lives says something
	// every ten seconds.
	silence = 35 * time.Second
	// reconnectAfter is the wait before a stream is opened again.
	reconnectAfter = 200 * time.Millisecond
)

// heard is something of the stream: an event, that the stream is open, or what could
// not be read.
type heard struct {
	event event
	data  []byte // as it came
	open  bool
	bad   bool
}

// listen reads the stream of events until life ends, and opens it again when it
// breaks. What was said meanwhile is lost, so whoever takes it must look.
func listen(life context.Context, c *client, out chan<- heard) {
	tell := func(h heard) bool {
		select {
		case out <- h:
			return true
		case <-life.Done():
			return false
		}
	}
	for life.Err() == nil {
		_ = listenOnce(life, c, tell) // why it broke does not matter: it is opened again
		timer := time.NewTimer(reconnectAfter)
		select {
		case <-timer.C:
		case <-life.Done():
			timer.Stop()
		}
	}
}

func listenOnce(life context.Context, c *client, tell func(heard) bool) error {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	resp, err := c.do(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != sse.ContentType {
		return fmt.Errorf("the stream was answered with %d %s", resp.StatusCode, kind)
	}
	for ev, err := range sse.Read(resp.Body, eventLimit) {
		if err != nil {
			return err
		}
		quiet.Reset(silence)
		h := heard{data: c.without(ev.Data)}
		h.bad = json.Unmarshal(h.data, &h.event) != nil || h.event.Type == ""
		h.open = h.event.Type == "server.connected"
		if !tell(h) {
			return nil
		}
		quiet.Reset(silence) // the log may have been slow
	}
	return nil
}

// keep is what is told of an event that could not be read.
func (h heard) keep() terret.Event {
	return terret.Event{Data: terret.DiagParseError{Text: brief.Cut(string(h.data), diagLimit)}}
}
