package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/reach"
)

const (
	maxEndpoint  = 2048             // bytes
	maxPayload   = 3900             // bytes; services take 4096 with what is around it
	maxAnswer    = 4 << 10          // bytes that are read of an answer
	sendPatience = 10 * time.Second // for one try
	keep         = 12 * time.Hour   // how long services keep what a browser has not fetched
	subject      = "https://github.com/terret-dev/terret"
)

// Note is what a browser shows.
type Note struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	// Tag names what it is about: a later note with the same tag replaces it.
	Tag string `json:"tag"`
	// Path is where a click leads.
	Path string `json:"path"`
	// Urgent notes reach a phone that saves its battery.
	Urgent bool `json:"-"`
}

// check rejects what cannot be sent to.
func (s Subscription) check() error {
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || len(s.Endpoint) > maxEndpoint || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return terret.Invalid("endpoint", "it must be an https address of at most %d bytes, as the browser gives it", maxEndpoint)
	case !reach.MayBePublic(u.Hostname()):
		return terret.Invalid("endpoint", "%s is not on the public internet, where push services are", u.Hostname())
	}
	if key, err := decode(s.P256DH); err != nil {
		return terret.Invalid("keys.p256dh", "it is not base64url")
	} else if _, err := ecdh.P256().NewPublicKey(key); err != nil {
		return terret.Invalid("keys.p256dh", "it is not a public key on the curve P-256")
	}
	if secret, err := decode(s.Auth); err != nil || len(secret) != 16 {
		return terret.Invalid("keys.auth", "it must be 16 bytes in base64url")
	}
	return nil
}

func decode(s string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
}

// NewClient makes a client that reaches push services: at public addresses only, without
// redirects.
func NewClient() *http.Client { return reach.NewClient() }

// refusal is an answer of a push service that is no success.
type refusal struct {
	status int
	wait   time.Duration // that it asks for; zero if it does not
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the push service answered %d %s", r.status, http.StatusText(r.status))
}

// gone reports whether the browser has given the subscription up.
func (r *refusal) gone() bool {
	return r.status == http.StatusNotFound || r.status == http.StatusGone
}

// later reports whether the same message may be taken later.
func (r *refusal) later() bool {
	return r.status == http.StatusTooManyRequests || r.status >= 500
}

// errTooLong is the error for notes that no service takes.
var errTooLong = errors.New("the message is too long")

// encode makes notes a message.
func encode(notes []Note) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // which takes six bytes for one
	if err := e.Encode(map[string]any{"notes": notes}); err != nil {
		return nil, err
	}
	payload := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("%w: it has %d bytes, and may have %d", errTooLong, len(payload), maxPayload)
	}
	return payload, nil
}

// send makes one try to send notes to a browser. An error that is neither a *refusal nor
// errTooLong means that the service was not reached. Errors do not tell the endpoint.
func send(ctx context.Context, client *http.Client, p page, to Subscription, notes []Note) error {
	payload, err := encode(notes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	urgency := webpush.UrgencyNormal
	if slices.ContainsFunc(notes, func(n Note) bool { return n.Urgent }) {
		urgency = webpush.UrgencyHigh
	}
	answer, err := webpush.SendNotificationWithContext(ctx, slices.Clip(payload),
		&webpush.Subscription{Endpoint: to.Endpoint, Keys: webpush.Keys{Auth: to.Auth, P256dh: to.P256DH}},
		&webpush.Options{
			HTTPClient: client, Subscriber: subject, TTL: int(keep.Seconds()), Urgency: urgency,
			VAPIDPublicKey: p.PublicKey, VAPIDPrivateKey: p.PrivateKey,
		})
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address
		}
		return fmt.Errorf("cannot reach the push service %s: %w", to.Service(), err)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // for the connection's next use
	_ = answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &refusal{answer.StatusCode, retryAfter(answer.Header.Get("Retry-After"))}
}

// Service is the host of the push service.
func (s Subscription) Service() string {
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 && seconds < 1<<30 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
