package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/cmd/terret/internal/pages"
	"github.com/terret-dev/terret/docs"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/door/mcp"
	"github.com/terret-dev/terret/internal/door/uhp"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/keys"
	"github.com/terret-dev/terret/internal/server/setup"
	"github.com/terret-dev/terret/web"
	"github.com/terret-dev/terret/work/team"
)

type serveOptions struct {
	addr, cert, key string
	roots           []string
	hosts, origins  []string
	open, attached  bool
	drain           time.Duration
	labels          []string // of the node
	max             int      // sessions of the node
}

func newServe(a *app) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API and the web UI", Args: exactArgs(),
		Long: "Serve the API and the web UI.\n\n" +
			"When ready, it prints its address and, on standard error, a URL that signs one\n" +
			"browser in, once, within ten minutes; `terret open` makes another. Programs send the\n" +
			"token from the file \"token\" in the data folder. The first Ctrl-C lets running turns\n" +
			"finish, the second interrupts them.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), a, o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.addr, "addr", "", "address to listen on; port 0 picks a free one (default 127.0.0.1:7433)")
	fl.StringArrayVar(&o.roots, "root", nil, "folder that sessions may work in (repeatable; default: this one)")
	fl.BoolVar(&o.open, "open", false, "open the web UI in a browser")
	fl.StringVar(&o.cert, "tls-cert", "", "certificate; required if other machines can reach the address")
	fl.StringVar(&o.key, "tls-key", "", "key of the certificate")
	fl.StringArrayVar(&o.hosts, "host", nil, "additional host name of the server (repeatable)")
	fl.StringArrayVar(&o.origins, "origin", nil, "additional origin whose pages may use the server (repeatable)")
	fl.BoolVar(&o.attached, "attached", false, "stop when standard input ends: for a program that starts the server and must not leave it behind")
	fl.DurationVar(&o.drain, "drain", 20*time.Second, "how long to wait for running turns when the server stops")
	fl.StringSliceVar(&o.labels, "labels", nil, "in a fleet: what this machine is or has, such as gpu,eu")
	fl.IntVar(&o.max, "max", 0, "in a fleet: how many sessions it takes from others (default: any number)")
	return cmd
}

func runServe(ctx context.Context, a *app, o serveOptions) error {
	sv, err := a.beginServing(ctx, o)
	if err != nil {
		return err
	}
	defer sv.close()
	if o.attached {
		go func() { // ends with the program: nothing can interrupt the read
			_, _ = io.Copy(io.Discard, a.in)
			sv.stop()
		}()
	}
	defer interrupts(func() {
		a.note("stopping; running turns have %s to end, and Ctrl-C again interrupts them", max(o.drain, 0))
		sv.stop()
	}, func() { _ = sv.engine.Close(sv.ctx) })()

	// Connections wait until Serve accepts them, so clients can connect as soon as they
	// read this.
	if _, err := fmt.Fprintf(a.out, "listening on %s\n", sv.url); err != nil {
		return errors.Join(err, sv.listener.Close())
	}
	signIn := sv.url + "/#code=" + sv.tokens.NewCode()
	fmt.Fprintf(a.err, "sign in with %s\n", signIn)
	if o.open {
		defer a.browse(sv.ctx, signIn).remove()
	}
	_ = pages.Unmap() // memory that nobody needs is no reason not to serve
	return sv.serve()
}

// serving is a server that listens and can be found, until it is closed.
type serving struct {
	ctx      context.Context // ends with stop
	stop     context.CancelFunc
	engine   *engine.Engine
	tokens   *access.Tokens
	server   *httpapi.Server
	listener net.Listener
	url      string
	closing  []func() // the last one first
}

// serve answers until the server is stopped.
func (sv *serving) serve() error { return sv.server.Serve(sv.ctx, sv.listener) }

// close ends everything that the server has started, and waits for it.
func (sv *serving) close() {
	for _, f := range slices.Backward(sv.closing) {
		f()
	}
}

// beginServing opens the store, starts the engine and what belongs to a server, and listens.
func (a *app) beginServing(ctx context.Context, o serveOptions) (sv *serving, err error) {
	a.serves = true
	sv = &serving{}
	defer func() {
		if err != nil {
			sv.close()
		}
	}()
	e, done, err := a.start(ctx, false)
	if err != nil {
		return sv, err
	}
	sv.engine, sv.closing = e, append(sv.closing, done)
	if sv.tokens, err = a.openTokens(); err != nil {
		return sv, err
	}
	if err := a.join(ctx, o); err != nil {
		return sv, err
	}
	r, err := a.harness.Team(ctx, a.sessions(true))
	if err != nil {
		return sv, err
	}
	sv.closing = append(sv.closing, func() { r.Close() })
	machine := a.newSetup(o)
	sv.closing = append(sv.closing, machine.Close)
	if sv.server, err = a.newServer(e, sv.tokens, r, machine, o); err != nil {
		return sv, err
	}
	if sv.listener, sv.url, err = a.listen(ctx, sv.tokens, o); err != nil {
		return sv, err
	}
	sv.ctx, sv.stop = context.WithCancel(ctx)
	var background sync.WaitGroup
	sv.closing = append(sv.closing, background.Wait, sv.stop)
	background.Go(func() { a.harness.Maintain(sv.ctx) })
	background.Go(func() { a.harness.Retain(sv.ctx, a.sessions(true)) })
	background.Go(func() {
		if err := r.Run(sv.ctx); err != nil && sv.ctx.Err() == nil {
			a.logger.Error("cannot run the team", "error", err)
		}
	})
	withdraw, err := announce(sv.ctx, a.data, placeOf(sv.url, o))
	if err != nil {
		return sv, errors.Join(terret.Errorf(terret.CodeStartupRefused, "cannot say where the server listens: %w", err), sv.listener.Close())
	}
	sv.closing = append(sv.closing, withdraw)
	a.answerHooks(sv, &background)
	return sv, nil
}

// openTokens opens the tokens of this machine, or of the fleet. The store must be open.
func (a *app) openTokens() (*access.Tokens, error) {
	if fleet, ok := a.harness.Store.(terret.Fleet); ok {
		return access.OpenShared(a.data, fleet)
	}
	return access.Open(a.data)
}

// join makes the server a node, if it is one of a fleet.
func (a *app) join(ctx context.Context, o serveOptions) error {
	roots, err := a.serveRoots(o)
	if err != nil {
		return err
	}
	return a.harness.Join(ctx, nodeOf(roots, o))
}

// nodeOf is what a server says of itself to a fleet.
func nodeOf(roots []string, o serveOptions) terret.Node {
	return terret.Node{Version: version(), Roots: roots, Labels: o.labels, Max: o.max}
}

// serveRoots are the folders that sessions may work in.
func (a *app) serveRoots(o serveOptions) ([]string, error) {
	roots := o.roots
	if len(roots) == 0 {
		roots = a.cfg.Roots
	}
	if len(roots) == 0 {
		dir, err := os.Getwd()
		if err != nil {
			return nil, terret.Invalid("root", "%w", err)
		}
		roots = []string{dir}
	}
	for i, root := range o.roots { // as the shell that they were typed in means them
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, terret.Invalid("root", "%w", err)
		}
		roots[i] = abs
	}
	return roots, nil
}

// newSetup is what people set this machine up with in a browser.
func (a *app) newSetup(o serveOptions) *setup.Setup {
	started := a.loaded
	started.Config, started.From = a.cfg, maps.Clone(a.loaded.From)
	started.Pool = a.loaded.Pool // a server has its own default
	for key, given := range map[string]bool{"data": a.dataGiven, "store": a.store != "", "addr": o.addr != "", "roots": len(o.roots) > 0} {
		if given {
			started.From[key] = "--" + key
		}
	}
	started.Data = a.loaded.Data
	if a.dataGiven {
		started.Data = a.data
	}
	if o.addr != "" {
		started.Addr = o.addr
	}
	if len(o.roots) > 0 {
		started.Roots, started.From["roots"] = o.roots, "--root"
	}
	return setup.New(setup.Options{
		Keys: keys.Open(a.data), MCPTokens: keys.OpenMCP(a.data), UserFile: config.UserFile(a.environ), Environ: a.environ,
		Started: started, Reload: a.reload, Agents: a.harness.Agents, Log: a.logger, Dir: a.data, Owner: a.harness.Store.Worker(),
	})
}

func (a *app) newServer(e *engine.Engine, tokens *access.Tokens, r *team.Registry, m *setup.Setup, o serveOptions) (*httpapi.Server, error) {
	roots, err := a.serveRoots(o)
	if err != nil {
		return nil, err
	}
	return httpapi.New(httpapi.Config{
		Engine: e, Store: a.harness.Store, Tokens: tokens, Hosts: o.hosts, Origins: o.origins,
		Roots: roots, Home: a.data, Trust: a.trust, Web: docs.Beside(web.Handler(), version()), Version: version(), Log: a.logger, Limits: httpapi.Limits{Drain: max(o.drain, time.Millisecond)},
		Doors: doors(),
		Node:  a.harness.Node(), About: a.harness.About(nodeOf(roots, o)), Sessions: a.sessions(true), Team: r, Setup: m, Env: a.environ, TerminalEnv: a.cfg.Agents["native"].Env, Worktree: a.cfg.Worktree, Nesting: a.cfg.Nesting,
	})
}

// doors are what other programs speak already, served by the server itself.
func doors() []httpapi.Door {
	return []httpapi.Door{{
		Path: uhp.Path, Public: uhp.Public, OtherBody: uhp.OtherBody, Refuse: uhp.Refuse,
		Open: func(server http.Handler) httpapi.OpenDoor { return uhp.New(server, version()) },
	}, {
		Path: mcp.Path, Refuse: mcp.Refuse,
		Open: func(server http.Handler) httpapi.OpenDoor { return mcp.NewDoor(server, version()) },
	}}
}

// listen opens the address, if that is allowed, and returns its URL.
func (a *app) listen(ctx context.Context, tokens *access.Tokens, o serveOptions) (net.Listener, string, error) {
	addr := nonEmpty(o.addr, nonEmpty(a.cfg.Addr, "127.0.0.1:7433"))
	if (o.cert == "") != (o.key == "") {
		return nil, "", terret.Invalid("tls-cert", "use --tls-cert and --tls-key together")
	}
	if err := access.CheckBind(ctx, addr, o.cert != "", tokens); err != nil {
		return nil, "", err
	}
	var secure *tls.Config
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, "", terret.Invalid("tls-cert", "%w", err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, "", terret.Errorf(terret.CodeStartupRefused, "cannot listen on %s: %w; choose another with --addr", addr, err)
	}
	url := "http://" + reachable(l.Addr())
	if secure != nil {
		l, url = tls.NewListener(l, secure), "https://"+reachable(l.Addr())
	}
	return l, url, nil
}

// reachable is the address for clients on this machine.
func reachable(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return addr.String()
	}
	ip := at.Addr().Unmap()
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(ip, at.Port()).String()
}

// browsing is a browser that is being opened.
type browsing struct {
	done sync.WaitGroup
	dir  string // of the page that leads to the URL; the browser may read it late
}

func (b *browsing) wait() { b.done.Wait() }

func (b *browsing) remove() {
	b.wait()
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// browse opens a URL in the user's browser. The URL holds a code that must not show up
// in a process list, so the browser opens a file that redirects to it. The caller
// removes the file, or else the next call does when the code is worthless.
func (a *app) browse(ctx context.Context, url string) *browsing {
	old, _ := filepath.Glob(filepath.Join(a.data, "open-*")) // the pattern is right
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
	b := &browsing{}
	failed := func(err error) *browsing {
		a.note("cannot open a browser (%v); open the link yourself (`terret open --print` prints a new one)", err)
		return b
	}
	dir, err := os.MkdirTemp(a.data, "open-")
	if err != nil {
		return failed(err)
	}
	b.dir = dir
	file := filepath.Join(dir, "terret.html")
	page := "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0;url=" + html.EscapeString(url) + "\"><title>Terret</title>"
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		b.remove()
		return failed(err)
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	b.done.Go(func() {
		if err := exec.CommandContext(ctx, program, file).Run(); err != nil && ctx.Err() == nil {
			failed(err)
		}
	})
	return b
}
