package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/reach"
)

const (
	maxAnswer    = 4 << 10 // bytes that are read of what is answered
	sendPatience = 10 * time.Second
)

// Message is what a channel is told.
type Message struct {
	Title  string
	Text   string
	Link   string // empty if nobody knows where people reach the server
	Urgent bool
	// Answers are what a person may answer, by tokens that AnswerURL takes.
	Answers   []Answer
	AnswerURL string
}

// TestMessage is what tries a channel, with a link to where people reach the server.
func TestMessage(link string) Message {
	return Message{Title: "Terret", Text: "Notifications reach this channel.", Link: link}
}

// Answer is a button.
type Answer struct{ Label, Token string }

// posted is the body of a webhook's message.
type posted struct {
	ID      string      `json:"id"`
	Event   Event       `json:"event"`
	Time    terret.Time `json:"time"`
	Title   string      `json:"title"`
	Text    string      `json:"text"`
	Session string      `json:"session,omitempty"`
	Turn    string      `json:"turn,omitempty"`
	Request string      `json:"request,omitempty"`
	URL     string      `json:"url,omitempty"`
}

type ntfyAction struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Clear   bool              `json:"clear"`
}

type ntfyMessage struct {
	Topic    string       `json:"topic"`
	Title    string       `json:"title"`
	Message  string       `json:"message"`
	Priority int          `json:"priority"`
	Click    string       `json:"click,omitempty"`
	Actions  []ntfyAction `json:"actions,omitempty"`
}

// refusal is an answer that is no success.
type refusal int

func (r refusal) Error() string {
	return fmt.Sprintf("it answered %d %s", int(r), http.StatusText(int(r)))
}

// mayPass reports whether a failed try may succeed later.
func mayPass(err error) bool {
	status, refused := errors.AsType[refusal](err)
	return !refused || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// Clients reach channels.
type Clients struct{ Public, Private *http.Client }

// NewClients makes clients that follow no redirects: one for the public internet only, and one
// for what an administrator marked as private.
func NewClients() Clients { return Clients{reach.NewClient(), reach.NewInnerClient()} }

// Close closes connections that nobody uses.
func (c Clients) Close() {
	c.Public.CloseIdleConnections()
	c.Private.CloseIdleConnections()
}

// send makes one try.
func (c Clients) send(ctx context.Context, to Channel, d Delivery, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	r, err := request(ctx, to, d, m)
	if err != nil {
		return err
	}
	client := c.Public
	if to.Private {
		client = c.Private
	}
	res, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may hold a secret
		}
		return fmt.Errorf("%s was not reached: %w", to.host(), err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // for the connection's next use
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return refusal(res.StatusCode)
	}
	return nil
}

func request(ctx context.Context, to Channel, d Delivery, m Message) (*http.Request, error) {
	at, body := to.URL, any(posted{d.ID, d.Event, d.At, m.Title, m.Text, d.Session, d.Turn, d.Request, m.Link})
	if to.Kind == Ntfy {
		n := ntfyMessage{Title: m.Title, Message: m.Text, Priority: 3, Click: m.Link}
		at, n.Topic = to.topic()
		if m.Urgent {
			n.Priority = 4
		}
		for _, a := range m.Answers {
			text, err := json.Marshal(map[string]string{"token": a.Token})
			if err != nil {
				return nil, err
			}
			n.Actions = append(n.Actions, ntfyAction{"http", a.Label, m.AnswerURL, http.MethodPost, map[string]string{"Content-Type": "application/json"}, string(text), true})
		}
		body = n
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "terret")
	switch {
	case to.Kind == Webhook:
		now := strconv.FormatInt(time.Now().Unix(), 10)
		r.Header.Set("Terret-Delivery", d.ID)
		r.Header.Set("Terret-Timestamp", now)
		r.Header.Set("Terret-Signature", "sha256="+signature(to.Secret, now, raw))
	case to.Secret != "":
		r.Header.Set("Authorization", "Bearer "+to.Secret)
	}
	return r, nil
}

// signature signs a message together with when it was sent, so that it cannot be sent again
// later.
func signature(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, timestamp+".")
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
