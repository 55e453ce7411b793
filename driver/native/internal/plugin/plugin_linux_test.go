package plugin

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/driver/native/internal/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering begins a plugin in shell that offers a tool, and hooks that may forbid.
const answering = `#!/bin/sh
echo $$ >> pids
next() { read -r line || exit 0; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
next; say '{"tools":[{"name":"do","schema":{"type":"object"}}],"commands":[{"name":"c"}],"hooks":["pre_tool","stop"]}'
next
`

// run starts a plugin with that text.
func run(t *testing.T, text string) (*Plugins, []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "odd"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p := New(Find(dir), Options{Dir: dir, Session: "ses_1", Environ: []string{"PATH=" + os.Getenv("PATH")}, Owner: "test", Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		pids, _ := os.ReadFile(filepath.Join(dir, "pids"))
		for pid := range strings.FieldsSeq(string(pids)) {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				t.Errorf("process %s is left", pid)
			}
		}
	})
	return p, p.Refresh(t.Context())
}

// use calls the tool of the plugin.
func use(t *testing.T, p *Plugins) string {
	t.Helper()
	all := p.Tools()
	if len(all) != 1 || all[0].Name != "plugin__odd__do" {
		t.Fatalf("%+v", all)
	}
	u, err := all[0].Prepare(t.Context(), tools.Env{}, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Text
}

// TestOddPlugins has plugins that do not begin as they should.
func TestOddPlugins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"ends":           {"#!/bin/sh\nexit 0\n", "it ended"},
		"says why":       {"#!/bin/sh\necho no key >&2\nexit 1\n", "no key"},
		"no program":     {"#!/nonexistent/program\n", "does not work"},
		"garbage":        {"#!/bin/sh\necho $$ > pids\nwhile :; do echo garbage; done\n", "it ended"},
		"endless line":   {"#!/bin/sh\necho $$ > pids\nhead -c 100000000 /dev/zero | tr '\\0' x\n", "it ended"},
		"null answer":    {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":null}'; read -r l\n", ""},
		"error":          {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"error\":{\"code\":1,\"message\":\"not today\"}}'; read -r l\n", "not today"},
		"wrong type":     {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":{\"tools\":5}}'; read -r l\n", "cannot unmarshal"},
		"bad tool name":  {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":{\"tools\":[{\"name\":\"../x\"}]}}'; read -r l\n", "a name has letters"},
		"two of a name":  {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":{\"tools\":[{\"name\":\"x\"},{\"name\":\"x\"}]}}'; read -r l\n", "two tools with the name x"},
		"bad schema":     {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":{\"tools\":[{\"name\":\"x\",\"schema\":{\"type\":\"string\"}}]}}'; read -r l\n", "must be that of an object"},
		"unknown hook":   {"#!/bin/sh\nread -r l; echo '{\"id\":1,\"result\":{\"hooks\":[\"allow\"]}}'; read -r l\n", `no hook "allow"`},
		"floods of news": {"#!/bin/sh\necho $$ > pids\nyes '{\"method\":\"progress\",\"params\":{}}'\n", "it ended"},
		"leaves another": {"#!/bin/sh\n(setsid sleep 1000 & echo $! > pids)\nexit 1\n", "it ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := run(t, c.text)
			if got := strings.Join(problems, "\n"); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("%q does not say %q", got, c.want)
			}
		})
	}
}

// TestPluginsThatFail has plugins that fail at a call. They are back with the next turn,
// and until then what they could forbid is forbidden.
func TestPluginsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"dies":           {"exit 3\n", "it ended"},
		"writes rubbish": {"while :; do echo rubbish; done\n", "it ended"},
		"floods":         {"yes '{\"method\":\"progress\",\"params\":{\"call\":\"do-1\",\"text\":\"x\"}}'\n", "it ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, problems := run(t, answering+c.text)
			if problems != nil {
				t.Fatal(problems)
			}
			if got := use(t, p); !strings.Contains(got, c.want) {
				t.Errorf("the call gives %q", got)
			}
			v, err := p.Hook(t.Context(), PreTool, map[string]any{})
			if err != nil || !v.Blocked {
				t.Errorf("%+v, %v", v, err)
			}
			if v, err := p.Hook(t.Context(), Stop, map[string]any{}); err != nil || v.Blocked {
				t.Errorf("%+v, %v", v, err)
			}
			if _, err := p.Expand(t.Context(), "odd:c", ""); err == nil {
				t.Error("it made a prompt")
			}
			p.watching.Wait() // until its end is noticed
			if problems := p.Refresh(t.Context()); problems != nil || len(p.Tools()) != 1 {
				t.Errorf("it is not back: %v", problems)
			}
		})
	}
}

// TestHangingPlugin is interrupted, and does not take the turn with it.
func TestHangingPlugin(t *testing.T) {
	t.Parallel()
	p, problems := run(t, answering+"next; case $line in *cancel*) touch cancelled;; esac; sleep 1000\n")
	if problems != nil {
		t.Fatal(problems)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { stop(why) })
	if _, err := p.Hook(ctx, PreTool, map[string]any{}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	write := func(path string, mode os.FileMode) {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "good.sh"), 0o700)
	write(filepath.Join(dir, "README.md"), 0o600)
	write(filepath.Join(dir, "with space"), 0o700)
	write(filepath.Join(dir, ".hidden"), 0o700)
	write(filepath.Join(dir, "übel"), 0o700)
	write(filepath.Join(out, "elsewhere"), 0o700)
	for name, to := range map[string]string{"link": filepath.Join(out, "elsewhere"), "dangling": "nowhere", "loop": "loop", "near": "good.sh"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range Find(dir) {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "good near" {
		t.Errorf("found %q", got)
	}
	if Find(filepath.Join(dir, "none")) != nil {
		t.Error("there are plugins in a folder that there is not")
	}
}
