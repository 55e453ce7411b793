package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// got is a request that a server or a fake of it got.
type got struct {
	header http.Header
	path   string
	body   string
	at     time.Time
}

// server answers with one status, and hands on what it gets.
func server(t *testing.T, status int) (*httptest.Server, chan got) {
	t.Helper()
	all := make(chan got, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all <- got{r.Header, r.URL.Path, string(body), time.Now()}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, all
}

// fake answers with statuses, the last of them for ever, without a network.
type fake struct {
	mu       sync.Mutex
	statuses []int
	got      []got
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, got{r.Header, r.URL.Path, string(body), time.Now()})
	status := f.statuses[0]
	if len(f.statuses) > 1 {
		f.statuses = f.statuses[1:]
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func (f *fake) clients() notify.Clients {
	c := &http.Client{Transport: f}
	return notify.Clients{Public: c, Private: c}
}

func queue(t *testing.T, home string, clients notify.Clients) *notify.Queue {
	t.Helper()
	q := &notify.Queue{
		Book: &notify.Book{Home: home}, Clients: clients, Home: home, Gather: time.Second, Log: slog.New(slog.DiscardHandler),
		Message: func(_ context.Context, _ notify.Page, _ notify.Channel, d notify.Delivery) (notify.Message, bool, error) {
			return notify.Message{Title: d.Session, Text: "Finished."}, d.Failure != "over", nil
		},
	}
	if err := q.Open(); err != nil {
		t.Fatal(err)
	}
	return q
}

func put(t *testing.T, home string, channels ...notify.Channel) {
	t.Helper()
	if err := (&notify.Book{Home: home}).Put(t.Context(), "", channels, 0); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, q *notify.Queue, pos int64, o notify.Occurrence) {
	t.Helper()
	if err := q.Add(t.Context(), pos, o); err != nil {
		t.Fatal(err)
	}
}

func hook(more ...func(*notify.Channel)) notify.Channel {
	c := notify.Channel{ID: "hook", Kind: notify.Webhook, URL: "https://hooks.example.com/x", Secret: "s3cret"}
	for _, f := range more {
		f(&c)
	}
	return c
}

// TestWebhook holds that whoever has the secret can check who sent a message, and when.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s, all := server(t, 204)
	home := t.TempDir()
	put(t, home, hook(func(c *notify.Channel) { c.URL, c.Private = s.URL+"/in", true }))
	clients := notify.NewClients()
	t.Cleanup(clients.Private.CloseIdleConnections)
	q := queue(t, home, clients)
	if err := q.Test(t.Context(), "hook", notify.Message{Title: "T", Text: "x", Link: "https://terret.example/s/1"}); err != nil {
		t.Fatal(err)
	}
	m := <-all
	stamp := m.header.Get("Terret-Timestamp")
	mac := hmac.New(sha256.New, []byte("s3cret"))
	fmt.Fprintf(mac, "%s.%s", stamp, m.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); m.header.Get("Terret-Signature") != want || stamp == "" {
		t.Errorf("signed %q at %q, want %q", m.header.Get("Terret-Signature"), stamp, want)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(m.body), &body); err != nil {
		t.Fatal(err)
	}
	if body["event"] != "test" || body["title"] != "T" || body["url"] != "https://terret.example/s/1" || body["id"] != m.header.Get("Terret-Delivery") || m.path != "/in" {
		t.Errorf("%s got %v", m.path, body)
	}
}

// TestNtfy holds that a message is published with its link and its buttons.
func TestNtfy(t *testing.T) {
	t.Parallel()
	s, all := server(t, 200)
	home := t.TempDir()
	put(t, home, notify.Channel{ID: "phone", Kind: notify.Ntfy, URL: s.URL + "/sub/topic", Secret: "tk_1", Private: true})
	clients := notify.NewClients()
	t.Cleanup(clients.Private.CloseIdleConnections)
	err := queue(t, home, clients).Test(t.Context(), "phone", notify.Message{
		Title: "T", Text: "x", Link: "https://terret.example/s/1", Urgent: true,
		AnswerURL: "https://terret.example/v1/notify/answer", Answers: []notify.Answer{{Label: "Allow", Token: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := <-all
	want := `{"topic":"topic","title":"T","message":"x","priority":4,"click":"https://terret.example/s/1","actions":[{"action":"http","label":"Allow",` +
		`"url":"https://terret.example/v1/notify/answer","method":"POST","headers":{"Content-Type":"application/json"},"body":"{\"token\":\"a\"}","clear":true}]}`
	if diff := cmp.Diff(want, m.body); diff != "" || m.path != "/sub/" || m.header.Get("Authorization") != "Bearer tk_1" {
		t.Errorf("%s %v %s", m.path, m.header, diff)
	}
}

// TestInner holds that a channel reaches no inner address unless it is marked as private, and
// follows no redirect.
func TestInner(t *testing.T) {
	t.Parallel()
	s, all := server(t, 307)
	home := t.TempDir()
	book := &notify.Book{Home: home}
	for _, at := range []string{
		s.URL, "http://hooks.example.com", "https://127.0.0.1/", "https://localhost/x", "https://10.0.0.1", "https://[::1]/", "https://169.254.169.254/latest", "https://u:p@hooks.example.com", "ftp://x", "x",
	} {
		if err := book.Put(t.Context(), "", []notify.Channel{hook(func(c *notify.Channel) { c.URL = at })}, 0); err == nil || terret.AsError(err).Code != terret.CodeInvalidRequest {
			t.Errorf("%s: %v", at, err)
		}
	}
	clients := notify.NewClients()
	t.Cleanup(clients.Private.CloseIdleConnections)
	q := queue(t, home, clients)
	raw := fmt.Sprintf(`{"version":1,"channels":[{"id":"hook","kind":"webhook","url":%q,"secret":"x"}]}`, s.URL)
	if err := os.WriteFile(filepath.Join(home, "notify.json"), []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := q.Test(t.Context(), "hook", notify.Message{}); err == nil || len(all) != 0 {
		t.Errorf("an inner address was reached: %v", err)
	}
	put(t, home, hook(func(c *notify.Channel) { c.URL, c.Private = s.URL, true }))
	if err := q.Test(t.Context(), "hook", notify.Message{}); err == nil || !strings.Contains(err.Error(), "307") || len(all) != 1 {
		t.Errorf("a redirect: %v, %d requests", err, len(all))
	}
}

// TestRetry holds that what failed is tried again, ever more rarely, also after a restart, and
// is sent once.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		home, f := t.TempDir(), &fake{statuses: []int{500, 503, 429, 200}}
		put(t, home, hook())
		run := func(q *notify.Queue, how time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), how)
			defer cancel()
			q.Run(ctx)
		}
		q := queue(t, home, f.clients())
		begin := time.Now()
		add(t, q, 7, notify.Occurrence{Event: notify.Done, Session: "one"})
		add(t, q, 7, notify.Occurrence{Event: notify.Done, Session: "one"}) // seen already
		run(q, 10*time.Second)
		if len(f.got) != 1 {
			t.Fatalf("%d tries before the restart", len(f.got))
		}
		q = queue(t, home, f.clients())
		if pos, any, err := q.From(t.Context()); pos != 7 || !any || err != nil {
			t.Errorf("after a restart it begins after %d, %v, %v", pos, any, err)
		}
		add(t, q, 8, notify.Occurrence{Event: notify.Done, Session: "two"})
		add(t, q, 9, notify.Occurrence{Event: notify.Done, Session: "three", Failure: "over"})
		run(q, 10*time.Minute)
		var told []string
		for _, g := range f.got {
			var body struct{ Title string }
			_ = json.Unmarshal([]byte(g.body), &body)
			told = append(told, fmt.Sprint(body.Title, " ", g.at.Sub(begin)))
		}
		// What is new is tried at once. If that fails too, the first waits with it, and goes first.
		if diff := cmp.Diff([]string{"one 1s", "two 11s", "one 26s", "one 56s", "two 56s"}, told); diff != "" {
			t.Error(diff)
		}
		if s, err := notify.Read(home); err != nil || len(s.Waiting)+len(s.Lost) != 0 || s.Pos != 9 {
			t.Errorf("left %+v, %v", s, err)
		}
	})
}

// TestGiveUp holds that a delivery is given up after a day, or at once if it is refused, and
// that this is remembered.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		home, f := t.TempDir(), &fake{statuses: []int{404, 500}}
		put(t, home, hook())
		q := queue(t, home, f.clients())
		add(t, q, 1, notify.Occurrence{Event: notify.Done, Session: "refused"})
		add(t, q, 2, notify.Occurrence{Event: notify.Done, Session: "late"})
		ctx, cancel := context.WithTimeout(t.Context(), 23*time.Hour)
		q.Run(ctx)
		cancel()
		s, err := notify.Read(home)
		if err != nil || len(s.Waiting) != 1 || len(s.Lost) != 1 || s.Lost[0].Session != "refused" || !strings.Contains(s.Lost[0].Error, "404") {
			t.Fatalf("after 23 hours %+v, %v", s, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		q.Run(ctx)
		if s, err = notify.Read(home); err != nil || len(s.Waiting) != 0 || len(s.Lost) != 2 || s.Lost[1].Session != "late" || len(f.got) > 50 {
			t.Errorf("after a day %+v, %v", s, err)
		}
	})
}

// TestQuiet holds that nothing is sent in quiet hours, and that it is sent when they end.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which begins at midnight UTC
		home, f := t.TempDir(), &fake{statuses: []int{200}}
		put(t, home,
			hook(func(c *notify.Channel) {
				c.ID, c.Quiet = "night", &notify.Quiet{From: "22:00", To: "07:30", Zone: "UTC"}
			}),
			hook(func(c *notify.Channel) {
				c.ID, c.Quiet = "noon", &notify.Quiet{From: "12:00", To: "13:00", Zone: "UTC"}
			}),
			hook(func(c *notify.Channel) { c.ID, c.Events = "failures", []notify.Event{notify.Failed} }),
			hook(func(c *notify.Channel) { c.ID, c.Disabled = "off", true }),
		)
		q := queue(t, home, f.clients())
		begin := time.Now().UTC()
		if begin.Hour() != 0 {
			t.Fatal(begin)
		}
		add(t, q, 1, notify.Occurrence{Event: notify.Done, Session: "one"})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Hour)
		defer cancel()
		q.Run(ctx)
		var at []string
		for _, g := range f.got {
			at = append(at, g.at.UTC().Format("15:04:05"))
		}
		if diff := cmp.Diff([]string{"00:00:01", "07:30:00"}, at); diff != "" {
			t.Error(diff)
		}
	})
}

// TestBounded holds that the oldest make room, which is said.
func TestBounded(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	waiting := make([]notify.Delivery, 1000)
	for i := range waiting {
		waiting[i] = notify.Delivery{ID: fmt.Sprint(i), Channel: "hook"}
	}
	raw, err := json.Marshal(notify.State{Pos: 1, Waiting: waiting})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "notify-queue.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, home, hook())
	add(t, queue(t, home, (&fake{statuses: []int{200}}).clients()), 2, notify.Occurrence{Event: notify.Done, Session: "new"})
	s, err := notify.Read(home)
	if err != nil || len(s.Waiting) != 1000 || s.Dropped != 1 || s.Waiting[0].ID != "1" || s.Waiting[999].Session != "new" {
		t.Errorf("%d wait, %d dropped, %v", len(s.Waiting), s.Dropped, err)
	}
}

// TestSecrets holds that a secret is kept for its address only, and that channels which are
// enabled again are told of nothing that was before.
func TestSecrets(t *testing.T) {
	t.Parallel()
	book := &notify.Book{Home: t.TempDir()}
	kept := func(more ...func(*notify.Channel)) notify.Channel {
		c := hook(more...)
		c.Secret = notify.Kept
		return c
	}
	must := func(pos int64, c notify.Channel) notify.Page {
		t.Helper()
		if err := book.Put(t.Context(), "https://terret.example", []notify.Channel{c}, pos); err != nil {
			t.Fatal(err)
		}
		p, err := book.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	must(3, hook())
	if p := must(9, kept()); p.Channels[0].Secret != "s3cret" || p.Since["hook"] != 3 || p.Channels[0].Shown().Secret != notify.Kept {
		t.Errorf("%+v", p)
	}
	must(10, kept(func(c *notify.Channel) { c.Disabled = true }))
	if p := must(11, kept()); p.Since["hook"] != 11 {
		t.Errorf("%+v", p)
	}
	if err := book.Put(t.Context(), "", []notify.Channel{kept(func(c *notify.Channel) { c.URL = "https://other.example.com" })}, 0); err == nil {
		t.Error("a secret was kept for another address")
	}
	for name, c := range map[string]notify.Channel{
		"no secret":      hook(func(c *notify.Channel) { c.Secret = "" }),
		"answers":        hook(func(c *notify.Channel) { c.Answers = true }),
		"no topic":       {Kind: notify.Ntfy, URL: "https://ntfy.sh"},
		"a wrong kind":   hook(func(c *notify.Channel) { c.Kind = "pigeon" }),
		"a wrong event":  hook(func(c *notify.Channel) { c.Events = []notify.Event{"test"} }),
		"a wrong zone":   hook(func(c *notify.Channel) { c.Quiet = &notify.Quiet{From: "1:00", To: "2:00", Zone: "Nowhere"} }),
		"no quiet":       hook(func(c *notify.Channel) { c.Quiet = &notify.Quiet{From: "1:00", To: "1:00"} }),
		"a wrong time":   hook(func(c *notify.Channel) { c.Quiet = &notify.Quiet{From: "25:00", To: "1:00"} }),
		"a wrong id":     hook(func(c *notify.Channel) { c.ID = "../x" }),
		"a wrong secret": hook(func(c *notify.Channel) { c.Secret = "a\nb" }),
	} {
		if err := book.Put(t.Context(), "", []notify.Channel{c}, 0); err == nil {
			t.Error(name, "is accepted")
		}
	}
	if err := book.Put(t.Context(), "terret.example", nil, 0); err == nil {
		t.Error("a base that is no origin is accepted")
	}
	if err := book.Put(t.Context(), "", []notify.Channel{hook(), hook()}, 0); err == nil {
		t.Error("two channels have one id")
	}
}

// TestGrant holds that a token is for what it says only, for a day at most, and while its
// channel may answer.
func TestGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := &notify.Book{Home: t.TempDir()}
		phone := notify.Channel{ID: "phone", Kind: notify.Ntfy, URL: "https://ntfy.sh/topic", Answers: true}
		set := func(c notify.Channel) {
			if err := book.Put(t.Context(), "", []notify.Channel{c}, 0); err != nil {
				t.Fatal(err)
			}
		}
		set(phone)
		p, err := book.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g := notify.Grant{Channel: "phone", Request: "req_1", Behavior: terret.BehaviorDeny, InputHash: "h", Expires: time.Now().Add(time.Hour).Unix()}
		token := p.Token(g)
		if back, err := book.Redeem(t.Context(), token); err != nil || back != g {
			t.Errorf("%+v, %v", back, err)
		}
		refused := func(name, token string) {
			t.Helper()
			if _, err := book.Redeem(t.Context(), token); err == nil || terret.AsError(err).Code != terret.CodeUnauthorized {
				t.Errorf("%s: %v", name, err)
			}
		}
		allow := g
		allow.Behavior = terret.BehaviorAllow
		forged, _, _ := strings.Cut(p.Token(allow), ".")
		_, mac, _ := strings.Cut(token, ".")
		refused("another answer", forged+"."+mac)
		refused("no signature", forged+".")
		refused("nothing", "")
		refused("something long", token+strings.Repeat("A", 5000))
		refused("no key", notify.Page{}.Token(g))
		off := phone
		off.Answers = false
		set(off)
		refused("a channel that may not answer", token)
		off = phone
		off.Disabled = true
		set(off)
		refused("a channel that is disabled", token)
		set(phone)
		time.Sleep(time.Hour)
		refused("an old one", token)
	})
}
