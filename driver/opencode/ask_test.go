package opencode

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// transport answers every call, and remembers which were made.
type transport struct {
	mu      sync.Mutex
	calls   []string
	answers map[string]string // by path; others are answered with true
	hold    chan struct{}     // if it is there, each answer waits for it
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.calls = append(t.calls, r.URL.Path)
	t.mu.Unlock()
	if t.hold != nil {
		<-t.hold
	}
	answer := cmp.Or(t.answers[r.URL.Path], "true")
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
	}, nil
}

func (t *transport) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// nobody is a host that nobody listens to. It decides as it was told.
type nobody struct {
	terret.Host
	d terret.Decision
}

func (nobody) Delivered(context.Context, string) error { return nil }

func (h nobody) Ask(context.Context, terret.Ask) (terret.Decision, error) { return h.d, nil }

// TestDenialComesLast is that a denial, which takes the other requests of the session
// with it, is told after those have been answered.
func TestDenialComesLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &transport{}
		s := &stay{
			a: &agent{Seat: seat.New[*stay](terret.OpenRequest{Host: nobody{}})}, c: &client{base: "http://fake", http: &http.Client{Transport: calls}},
			t: newTranslator(options{native: "ses_1"}), asks: map[string]*asking{},
		}
		for _, id := range []string{"per_1", "per_2"} {
			s.asks[id] = &asking{session: "ses_1", ctx: t.Context(), settled: make(chan struct{})}
		}
		go s.deliver(s.asks["per_1"], permissionAsked{ID: "per_1", SessionID: "ses_1"}, terret.Decision{Behavior: terret.BehaviorDeny})
		synctest.Wait()
		if n := calls.made(); n != 0 {
			t.Errorf("the denial was told before the other request was answered")
		}
		s.deliver(s.asks["per_2"], permissionAsked{ID: "per_2", SessionID: "ses_1"}, terret.Decision{Behavior: terret.BehaviorAllow})
		synctest.Wait()
		if n := calls.made(); n != 2 || calls.calls[1] != "/permission/per_1/reply" {
			t.Errorf("%v", calls.calls)
		}
	})
}

// TestQuiet is about which tool uses a person need not be asked, if no rule says so.
func TestQuiet(t *testing.T) {
	t.Parallel()
	a := &agent{Seat: seat.New[*stay](terret.OpenRequest{Session: terret.Session{Cwd: "/p"}}), turn: terret.Settings{AddDirs: []string{"/q"}}}
	for name, c := range map[string]struct {
		role, tool, pattern, path string
		want                      bool
	}{
		"reads in the folder":       {"build", "read", "a.txt", "/p/a.txt", true},
		"in a further folder":       {"build", "read", "a.txt", "/q/a.txt", true},
		"by a relative path":        {"build", "read", "a.txt", "a.txt", true},
		"outside":                   {"build", "read", "a.txt", "/etc/passwd", false},
		"outside, relatively":       {"build", "read", "a.txt", "../a.txt", false},
		"what its own rules ask":    {"build", "read", ".env", "/p/.env", false},
		"changes something":         {"build", "edit", "a.txt", "/p/a.txt", false},
		"runs something":            {"build", "bash", "ls", "", false},
		"in a role that is unknown": {"other", "read", "a.txt", "/p/a.txt", false},
	} {
		s := &stay{a: a, t: newTranslator(options{native: "ses_1"}), role: c.role, about: about{agents: []agentInfo{{Name: "build", Permission: build}}}}
		pre := terret.ToolPre{Name: c.tool}
		if c.path != "" {
			pre.Paths = []string{c.path}
		}
		if got := s.quiet(permissionAsked{SessionID: "ses_1", Permission: c.tool, Patterns: []string{c.pattern}}, pre); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPreTool is what rules decide about a tool use that a person need not be asked about.
func TestPreTool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    terret.Decision
		want terret.Behavior
	}{
		"no rule":               {terret.Decision{Behavior: terret.BehaviorPassthrough}, terret.BehaviorAllow},
		"the policy asks":       {terret.Decision{Behavior: terret.BehaviorAsk}, terret.BehaviorAllow},
		"a rule wants a person": {terret.Decision{Behavior: terret.BehaviorAsk, Rule: "Read(*.pem)"}, terret.BehaviorAsk},
		"a rule denies":         {terret.Decision{Behavior: terret.BehaviorDeny, Rule: "Read"}, terret.BehaviorDeny},
		"a hook blocks":         {terret.Decision{Behavior: terret.BehaviorBlock}, terret.BehaviorDeny},
	} {
		s := &stay{a: &agent{Seat: seat.New[*stay](terret.OpenRequest{Host: nobody{d: c.d}})}, t: newTranslator(options{native: "ses_1"})}
		d, asked := s.preTool(&asking{ctx: t.Context()}, permissionAsked{}, terret.ToolPre{}, "", "")
		if !asked || d.Behavior != c.want {
			t.Errorf("%s: %s, %v", name, d.Behavior, asked)
		}
	}
}

// TestRefuse is that a refusal of ours is told as a denial, also if the call is not known.
func TestRefuse(t *testing.T) {
	t.Parallel()
	calls := &transport{}
	s := &stay{c: &client{base: "http://fake", http: &http.Client{Transport: calls}}, t: newTranslator(options{native: "ses_1"}), life: t.Context()}
	c := s.t.call("call_1")
	for _, id := range []string{"call_1", "call_2"} {
		s.refuse(permissionAsked{ID: "per_1", Tool: callRef{CallID: id}}, "no")
	}
	if !c.denied || c.reason != "no" || calls.made() != 2 {
		t.Errorf("%+v, %v", c, calls.calls)
	}
}

// TestToolOf is that a person sees what is known of a call whose input never comes.
func TestToolOf(t *testing.T) {
	t.Parallel()
	s := &stay{t: newTranslator(options{native: "ses_1"})}
	q := permissionAsked{SessionID: "ses_1", Permission: "edit", Patterns: []string{"a.txt"}}
	q.Metadata.FilePath, q.Metadata.Command = "/p/a.txt", "sed"
	pre, _, _ := s.toolOf(t.Context(), q)
	if string(pre.Input) != `{"command":"sed","filePath":"/p/a.txt","patterns":["a.txt"]}` || pre.Name != "edit" || len(pre.Paths) != 1 {
		t.Errorf("%+v", pre)
	}
}
