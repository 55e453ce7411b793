package httpapi_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

// TestFleet shows the nodes on any of them, and drains one from another: it takes nothing
// new, its turn ends, and it stops.
func TestFleet(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	release := make(chan struct{})
	a := newFixture(t, script(mock.Step{Text: "one"}, mock.Step{Do: func(ctx context.Context, _ string) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}}), onFleet(t, own, t.Name(), "a", terret.Node{Labels: []string{"gpu"}, Max: 20}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{Version: "v1"}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.server.Serve(t.Context(), l) }()

	var s terret.Session
	a.do("POST", "/v1/sessions", map[string]any{"cwd": a.dir}).want(201, &s)
	b.do("POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "go"}).want(202, nil)
	b.untilKind(s.ID, terret.KindMessageComplete)
	var fleet httpapi.Fleet
	b.do("GET", "/v1/fleet", nil).want(200, &fleet)
	if len(fleet.Nodes) != 2 || fleet.Node != "b" || fleet.Nodes[0].Name != "a" || fleet.Nodes[0].Sessions != 1 || fleet.Nodes[0].Working != 1 || fleet.Nodes[0].Max != 20 {
		t.Errorf("%+v", fleet)
	}
	if got := string(b.do("GET", "/metrics", nil).want(200, nil).body); !strings.Contains(got, "terret_fleet_nodes 2") || !strings.Contains(got, `terret_node_info{node="b"`) {
		t.Errorf("%s", got)
	}
	b.do("GET", "/readyz", nil).want(200, nil)
	dashboard(t, string(b.do("GET", "/metrics", nil).want(200, nil).body))

	web := httptest.NewServer(b.server.Handler())
	defer web.Close()
	c, err := client.New(web.URL, client.Options{Token: b.token, HTTP: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Fleet(t.Context()); err != nil || got.Node != "b" || len(got.Nodes) != 2 || got.Nodes[0].Labels[0] != "gpu" || got.DatabaseMS <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.DrainNode(t.Context(), "a", 10*time.Minute); err != nil || !got.Nodes[0].Draining || got.Node != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/readyz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a node that drains is ready: %d", w.Code)
	}
	close(release)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the node does not stop")
	}
	b.untilKind(s.ID, terret.KindTurnComplete)
}

// dashboard holds that Grafana's dashboard shows only what there is.
func dashboard(t *testing.T, metrics string) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/grafana.json")
	if err != nil || !json.Valid(text) {
		t.Fatal("deploy/grafana.json is not JSON", err)
	}
	names := regexp.MustCompile(`terret_[a-z_]+`).FindAllString(string(text), -1)
	if len(names) < 10 {
		t.Errorf("it shows only %v", names)
	}
	for _, name := range names {
		if !strings.Contains(metrics, "# TYPE "+name+" ") {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// untilKind waits for an event of that kind.
func (f *fixture) untilKind(session string, kind terret.Kind) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	res, err := f.client.Do(f.request(ctx, "GET", "/v1/sessions/"+session+"/events", nil, "Accept", sse.ContentType))
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	var seen []byte
	buffer := make([]byte, 1<<16)
	for !strings.Contains(string(seen), `"kind":"`+string(kind)+`"`) {
		n, err := res.Body.Read(buffer)
		if seen = append(seen, buffer[:n]...); err != nil {
			f.t.Fatalf("no %s: %v in %s", kind, err, seen)
		}
	}
}

// TestPushFleet holds that a browser that subscribed on one node is told of the sessions of
// all nodes, of each by one of them.
func TestPushFleet(t *testing.T) {
	t.Parallel()
	own, service := pgtest.ForTest(t), pushtest.New(t)
	b := newFixture(t, script(mock.Step{Text: "done"}), onFleet(t, own, t.Name(), "b", terret.Node{}), pushing(service))
	browser, _ := b.subscribe(service)
	a := newFixture(t, script(mock.Step{Text: "done"}), onFleet(t, own, t.Name(), "a", terret.Node{}), pushing(service))
	for _, f := range []*fixture{a, b} {
		name := "of b"
		if f == a {
			name = "of a"
		}
		f.prompt(f.session(titled(name)).ID, "go on")
		if got := f.told(browser); len(got) != 1 || got[0].Title != name || got[0].Body != "Finished." {
			t.Errorf("told %+v, want one note %s", got, name)
		}
	}
}
