//go:build unix

package mcphost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

const role = "MCPHOST_TEST_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		serve(name)
		return
	}
	goleak.VerifyTestMain(m)
}

type word struct {
	Word string `json:"word"`
}

// parrot is a server that says a word back.
func parrot() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "parrot", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "repeat", Description: "Says it back."}, func(_ context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
		switch in.Word {
		case "die":
			os.Exit(3)
		case "fail":
			return nil, nil, fmt.Errorf("I will not say that")
		case "learn":
			mcp.AddTool(s, &mcp.Tool{Name: "sing"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "la la"}}}, nil, nil
			})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Word + os.Getenv("SUFFIX")}}}, nil, nil
	})
	return s
}

// serve is the child process.
func serve(name string) {
	switch name {
	case "guest":
		if err := visit(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "mute":
		_, _ = os.Stdin.Read(make([]byte, 1<<20))
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "I lack a key")
		os.Exit(1)
	case "noisy":
		for range 1000 {
			fmt.Println("this is not JSON")
		}
		time.Sleep(time.Hour)
	}
	_ = parrot().Run(context.Background(), &mcp.StdioTransport{})
}

func start(ctx context.Context, t *testing.T, config string) *Servers {
	t.Helper()
	config = strings.ReplaceAll(config, "SELF", os.Args[0])
	s, err := New(terret.JSON(config), Options{Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Owner: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Refresh(ctx)
	return s
}

func stdio(name string) string {
	return `{"mcpServers": {"bird.1": {"command": "SELF", "env": {"` + role + `": "` + name + `", "SUFFIX": "!"}}}}`
}

func names(s *Servers) []string {
	out := []string{}
	for _, t := range s.Tools() {
		out = append(out, t.Name)
	}
	return out
}

// use calls the tool of that name.
func use(t *testing.T, s *Servers, name, said string) tools.Result {
	t.Helper()
	all := s.Tools()
	i := slices.IndexFunc(all, func(x tools.Tool) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	input, err := json.Marshal(word{said})
	if err != nil {
		t.Fatal(err)
	}
	u, err := all[i].Prepare(t.Context(), tools.Env{}, input)
	if err != nil {
		t.Fatal(err)
	}
	r, err := u.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestServers(t *testing.T) {
	t.Parallel()
	s := start(t.Context(), t, stdio("parrot"))
	const repeat = "mcp__bird_1__repeat"
	if diff := cmp.Diff([]terret.MCPServer{{Name: "bird.1", Status: "connected"}}, s.States()); diff != "" {
		t.Error(diff)
	}
	all := s.Tools()
	if len(all) != 1 || all[0].Name != repeat || all[0].Class != "mcp" || !bytes.Contains(all[0].Schema, []byte(`"word"`)) {
		t.Fatalf("%+v", all)
	}
	if r := use(t, s, repeat, "ahoy"); r.Text != "ahoy!" || r.IsError {
		t.Errorf("%+v", r)
	}
	if r := use(t, s, repeat, "fail"); !r.IsError || !strings.Contains(r.Text, "I will not say that") {
		t.Errorf("%+v", r)
	}
	if _, err := all[0].Prepare(t.Context(), tools.Env{}, json.RawMessage(`[]`)); err == nil {
		t.Error("a list was taken for an input")
	}

	// It has other tools now.
	changed := make(chan struct{}, 9)
	s.mu.Lock()
	s.noted = func() { changed <- struct{}{} }
	s.mu.Unlock()
	use(t, s, repeat, "learn")
	<-changed
	s.Refresh(t.Context())
	if diff := cmp.Diff([]string{repeat, "mcp__bird_1__sing"}, names(s)); diff != "" {
		t.Error(diff)
	}

	// It ends in the middle of a call, and is started again.
	if r := use(t, s, repeat, "die"); !r.IsError {
		t.Errorf("%+v", r)
	}
	s.watching.Wait()
	if got := s.States()[0].Status; got != "failed" || len(names(s)) > 0 {
		t.Errorf("a server that ended is %s and has %q", got, names(s))
	}
	s.Refresh(t.Context())
	if r := use(t, s, repeat, "back"); r.Text != "back!" {
		t.Errorf("%+v", r)
	}
}

func TestServersThatDoNotWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"broken":  {stdio("broken"), "I lack a key"},
		"mute":    {stdio("mute"), "it did not answer within"},
		"noisy":   {stdio("noisy"), ""},
		"missing": {`{"mcpServers": {"bird.1": {"command": "there-is-no-such-program"}}}`, "there-is-no-such-program"},
		"nobody":  {`{"mcpServers": {"bird.1": {"url": "http://127.0.0.1:1"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			s := start(ctx, t, c.config)
			if got := s.States()[0]; got.Status != "failed" || got.Error == "" || !strings.Contains(got.Error, c.want) {
				t.Errorf("%+v", got)
			}
			if len(s.Tools()) > 0 {
				t.Error("it has tools")
			}
		})
	}
}

func TestHTTPServers(t *testing.T) {
	t.Parallel()
	for kind, handler := range map[string]http.Handler{
		"http": mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return parrot() }, nil),
		"sse":  mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return parrot() }, nil),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer k" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			t.Cleanup(server.CloseClientConnections)
			s := start(t.Context(), t, `{"mcpServers": {"bird": {"type": "`+kind+`", "url": "`+server.URL+`", "headers": {"Authorization": "Bearer k"}}}}`)
			if got := s.States()[0]; got.Status != "connected" {
				t.Fatalf("%+v", got)
			}
			if r := use(t, s, "mcp__bird__repeat", "ahoy"); r.Text != "ahoy" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestToolsAtLast has a server that cannot list its tools at first. It has them when it can.
func TestToolsAtLast(t *testing.T) {
	t.Parallel()
	asked := 0
	bird := parrot()
	bird.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				if asked++; asked == 1 {
					return nil, errors.New("not yet")
				}
			}
			return next(ctx, method, r)
		}
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bird }, nil))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	s := start(t.Context(), t, `{"mcpServers": {"bird": {"url": "`+server.URL+`"}}}`)
	if got := s.States()[0]; got.Status != "failed" || !strings.Contains(got.Error, "not yet") || len(names(s)) > 0 {
		t.Fatalf("%+v with %q", got, names(s))
	}
	s.Refresh(t.Context())
	if got := s.States()[0]; got.Status != "connected" || len(names(s)) != 1 {
		t.Errorf("%+v with %q", got, names(s))
	}
	if s.Refresh(t.Context()); asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`[]`:                                     "not a configuration",
		`{}`:                                     "names no servers",
		`{"mcpServers": {"a": {}}}`:              "server a: it names no command",
		`{"mcpServers": {"a": {"url": "x"}}}`:    `server a: "x" is not its address`,
		`{"mcpServers": {"a": {"type": "ftp"}}}`: `there is no type "ftp"`,
	} {
		_, err := New(terret.JSON(config), Options{})
		if e := terret.AsError(err); err == nil || e.Code != terret.CodeInvalidRequest || e.Field != "mcp" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{"mcp__a_b__c_d-1": {"a b", "c.d-1"}, "mcp__" + strings.Repeat("x", 59): {strings.Repeat("x", 99), "y"}} {
		if got := Name(c[0], c[1]); got != want {
			t.Errorf("%q", got)
		}
	}
}
