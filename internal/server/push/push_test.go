package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func subscription(b *pushtest.Browser, owner string) push.Subscription {
	return push.Subscription{Endpoint: b.Endpoint, P256DH: b.P256DH, Auth: b.Auth, Owner: owner, Name: "phone", CreatedAt: terret.Now()}
}

// fixture is a queue that runs, and a push service.
type fixture struct {
	t       *testing.T
	book    *push.Book
	queue   *push.Queue
	service *pushtest.Service

	mu      sync.Mutex
	revoked map[string]bool // owners
	settled map[string]bool // sessions of which there is nothing to say any more
	blind   bool            // what there is to say cannot be told
}

// newFixture makes a queue without a network. Run it in a bubble.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, service: pushtest.New(t), book: &push.Book{Home: t.TempDir()}, revoked: map[string]bool{}, settled: map[string]bool{}}
	client := push.NewClient()
	client.Transport = f.service
	f.queue = &push.Queue{
		Book: f.book, Client: client, Gather: 3 * time.Second, Spacing: 15 * time.Second, Log: slog.New(slog.DiscardHandler),
		Valid: func(s push.Subscription) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.revoked[s.Owner]
		},
		Notes: func(_ context.Context, _ push.Subscription, topics []push.Topic) (notes []push.Note, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.blind {
				return nil, errors.New("the store is away")
			}
			for _, topic := range topics {
				if !f.settled[topic.Session] {
					notes = append(notes, push.Note{Title: topic.Session, Body: topic.Failed, Tag: topic.Session, Path: "/s/" + topic.Session, Urgent: !topic.Ended})
				}
			}
			return notes, nil
		},
	}
	return f
}

// run starts the queue; the result stops it and waits.
func (f *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.queue.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (f *fixture) subscribe(owner string) *pushtest.Browser {
	f.t.Helper()
	b := f.service.Browser()
	if err := f.book.Put(f.t.Context(), subscription(b, owner)); err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *fixture) need(sessions ...string) {
	for _, s := range sessions {
		f.queue.Add(push.Topic{Session: s, At: time.Now()})
	}
}

// after lets time pass, and returns what a browser got in it.
func after(d time.Duration, b *pushtest.Browser) (got []string) {
	time.Sleep(d)
	synctest.Wait()
	for {
		select {
		case m := <-b.Messages:
			var titles []string
			for _, n := range m.Notes {
				titles = append(titles, n.Title)
			}
			got = append(got, strings.Join(titles, "+"))
		default:
			return got
		}
	}
}

func (f *fixture) want(what string, got []string, want ...string) {
	f.t.Helper()
	if !slices.Equal(got, want) {
		f.t.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

func (f *fixture) subscribers() int {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.book.Home, "push.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	var page struct{ Subscriptions []push.Subscription }
	if err := json.Unmarshal(raw, &page); err != nil {
		f.t.Fatal(err)
	}
	return len(page.Subscriptions)
}

// TestGathers holds that many topics in a short time are few messages, and that what is
// settled by then is not told.
func TestGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b := f.subscribe("a")
		defer f.run()()
		for i := range 10 {
			f.need(fmt.Sprint(i))
		}
		f.need("0", "0")
		f.want("before the others are there", after(2*time.Second, b))
		f.mu.Lock()
		f.settled["5"] = true
		f.mu.Unlock()
		f.want("ten in a second", after(2*time.Second, b), "1+2+3+4+6+7+8+9+0")
		f.need("x")
		f.want("too soon after the last", after(10*time.Second, b))
		f.need("y")
		f.want("in time after the last", after(10*time.Second, b), "x+y")
		f.need("5")
		f.want("nothing to say", after(time.Hour, b))
	})
}

// TestAnswers holds what becomes of a message and a subscription by what the service says.
func TestAnswers(t *testing.T) {
	t.Parallel()
	status := func(code int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		left   int           // subscriptions
		again  time.Duration // until it is tried again; zero if it is not
	}{
		{"taken", status(201), 1, 0},
		{"gone", status(410), 0, 0},
		{"never there", status(404), 0, 0},
		{"too many", status(429, "Retry-After", "120"), 1, 120 * time.Second},
		{"too many, for long", status(429, "Retry-After", "86400"), 1, 0},
		{"too many, until a time", func(w http.ResponseWriter, r *http.Request) {
			status(429, "Retry-After", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))(w, r)
		}, 1, 90 * time.Second},
		{"overloaded", status(503), 1, 15 * time.Second},
		{"hangs", hang, 1, 25 * time.Second}, // ten until it is given up
		{"refused", status(403), 1, 0},
		{"redirects", status(307, "Location", "https://"+pushtest.Host+"/send/elsewhere"), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				b := f.subscribe("a")
				defer f.run()()
				f.service.Answer(c.answer)
				f.need("x")
				f.want("the first try", after(4*time.Second, b), "x")
				f.service.Answer(nil)
				if c.again > 0 {
					f.want("early", after(c.again-5*time.Second, b))
					f.want("the second try", after(10*time.Second, b), "x")
				}
				f.want("later", after(2*time.Hour, b))
				if left := f.subscribers(); left != c.left {
					t.Errorf("%d subscriptions are left, want %d", left, c.left)
				}
			})
		})
	}
}

// TestGivesUp holds that a service that never answers is not asked for ever, and keeps
// nobody else waiting.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b, other := f.subscribe("a"), f.subscribe("b")
		stop := f.run()
		path := strings.TrimPrefix(b.Endpoint, "https://"+pushtest.Host)
		f.service.Answer(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				<-r.Context().Done()
				return
			}
			w.WriteHeader(http.StatusCreated)
		})
		began := time.Now()
		f.need("x") // which does not wait
		if took := time.Since(began); took != 0 {
			t.Errorf("adding a topic took %s", took)
		}
		f.want("another service", after(4*time.Second, other), "x")
		tries := after(24*time.Hour, b)
		f.want("a service that hangs", tries, "x", "x", "x", "x", "x")
		f.want("another service, later", after(0, other))
		f.need("y")
		time.Sleep(4 * time.Second) // a try is on its way
		began = time.Now()
		stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("stopping took %s", took)
		}
	})
}

// TestRevoked holds that nothing is sent to whoever may not see it any more.
func TestRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		a, b := f.subscribe("a"), f.subscribe("b")
		defer f.run()()
		f.need("x")
		f.want("valid", after(4*time.Second, a), "x")
		f.mu.Lock()
		f.revoked["a"] = true
		f.mu.Unlock()
		f.need("y")
		f.want("revoked", after(time.Minute, a))
		f.want("the other", after(0, b), "x", "y")
		if left := f.subscribers(); left != 1 {
			t.Errorf("%d subscriptions are left", left)
		}
	})
}

// TestContent holds that a browser can read a message that came over TLS, that it is signed
// for the service, and that services can tell how urgent it is.
func TestContent(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	b := service.Browser()
	book := &push.Book{Home: t.TempDir()}
	q := &push.Queue{Book: book, Client: service.Client()}
	to := subscription(b, "a")
	if err := book.Put(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	note := push.Note{Title: "Fix the täst", Body: "Wants to run a command.", Tag: "needs-1", Path: "/s/1", Urgent: true}
	if err := q.Test(t.Context(), to, note); err != nil {
		t.Fatal(err)
	}
	m := <-b.Messages
	if len(m.Notes) != 1 || m.Notes[0] != (pushtest.Note{Title: note.Title, Body: note.Body, Tag: note.Tag, Path: note.Path}) {
		t.Errorf("notes %+v", m.Notes)
	}
	key, _, err := book.Own(t.Context(), "a")
	if err != nil || m.Key != key || m.Claims["aud"] != "https://"+pushtest.Host {
		t.Errorf("signed with %s for %v; the book's key is %s (%v)", m.Key, m.Claims, key, err)
	}
	if exp, _ := m.Claims["exp"].(float64); time.Until(time.Unix(int64(exp), 0)) > 24*time.Hour || int64(exp) < time.Now().Unix() {
		t.Errorf("claims %v", m.Claims)
	}
	if m.Header.Get("Urgency") != "high" || m.Header.Get("TTL") != "43200" {
		t.Errorf("header %v", m.Header)
	}
	note.Urgent = false
	if err := q.Test(t.Context(), to, note); err != nil {
		t.Fatal(err)
	}
	if m := <-b.Messages; m.Header.Get("Urgency") != "normal" {
		t.Errorf("header %v", m.Header)
	}
	note.Body = strings.Repeat("x", 5000)
	if err := q.Test(t.Context(), to, note); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("5000 bytes: %v", err)
	}
	service.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	note.Body = ""
	if err := q.Test(t.Context(), to, note); err == nil || strings.Contains(err.Error(), "/send/") {
		t.Errorf("a browser that is gone: %v", err)
	}
	if _, own, err := book.Own(t.Context(), "a"); err != nil || len(own) != 0 {
		t.Errorf("left: %v, %v", own, err)
	}
}

// TestReach holds that the client asks nobody who is not on the public internet, and follows
// no redirect.
func TestReach(t *testing.T) {
	t.Parallel()
	client := push.NewClient()
	defer client.CloseIdleConnections()
	for _, at := range []string{"https://127.0.0.1", "https://localhost", "https://[::1]", "https://10.1.2.3", "https://169.254.169.254", "https://[fd00::1]", "http://1.1.1.1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "is not an https address of the public internet") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if client.CheckRedirect(nil, nil) != http.ErrUseLastResponse { //nolint:errorlint // compared as net/http does
		t.Error("it follows redirects")
	}
}

type nowhere struct{ why error }

func (n nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, n.why }

// TestUnreached holds that a caller does not learn where a name leads, and that the log tells.
func TestUnreached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := f.logged()
	b := f.subscribe("a")
	f.queue.Client = &http.Client{Transport: nowhere{errors.New("it leads to 10.1.2.3")}}
	err := f.queue.Test(t.Context(), subscription(b, "a"), push.Note{Title: "x"})
	if err == nil || strings.Contains(err.Error(), "10.1.2.3") || !strings.Contains(err.Error(), pushtest.Host) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(log.String(), "10.1.2.3") || strings.Contains(log.String(), "/send/") {
		t.Errorf("logged %s", log)
	}
}
