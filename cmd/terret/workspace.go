package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/tui"
)

// workspaceFlags say what new sessions of the workspace are, and how it looks.
type workspaceFlags struct {
	agent, model, cwd, persona, policy, permissionMode, theme string
	worktree                                                  bool
}

func (f *workspaceFlags) add(cmd *cobra.Command) {
	f.addNew(cmd)
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "folder to work in (default: this one)")
	cmd.Flags().StringVar(&f.permissionMode, "permission-mode", "", "the agent's own permission mode")
	f.addLooks(cmd)
}

func (f *workspaceFlags) addLooks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.theme, "theme", "", "dark, light, high-contrast, none or ascii (default: $TERRET_THEME, or what the terminal can show)")
}

func newAttach(a *app) *cobra.Command {
	var f workspaceFlags
	cmd := &cobra.Command{
		Use: "attach SESSION", Short: "Open a session in the full-screen workspace", Args: exactArgs("SESSION"),
		Long: "Open a session in the full-screen workspace, also one that works right now in another\n" +
			"window or in a browser.",
		RunE: func(cmd *cobra.Command, args []string) error { return runAttach(cmd.Context(), a, f, args[0]) },
	}
	f.addLooks(cmd)
	return cmd
}

func runAttach(ctx context.Context, a *app, f workspaceFlags, id string) error {
	if !a.fullScreen() {
		return terret.Invalid("attach", "the workspace needs a terminal; `terret events %s --follow` prints what happens", id)
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	s, err := a.resolve(ctx, id)
	if err != nil {
		return err
	}
	return runWorkspace(ctx, a, f, s.ID)
}

// fullScreen reports whether the workspace can be shown here.
func (a *app) fullScreen() bool {
	return isTerminal(a.in) && isTerminal(a.out.w) && a.getenv("TERM") != "dumb" && a.getenv("TERM") != "" && a.getenv("CI") == ""
}

// runWorkspace shows the full-screen workspace, over the server that runs or one of its own.
func runWorkspace(ctx context.Context, a *app, f workspaceFlags, session string) error {
	flags := sessionFlags{cwd: f.cwd}
	if err := flags.into(a, a.interactive()); err != nil {
		return err
	}
	dir, err := flags.folder()
	if err != nil {
		return terret.Invalid("cwd", "%w", err)
	}
	a.serves = true
	if err := a.prepare(); err != nil { // whether to trust the folder is asked here
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	w := &workspace{app: a, folders: []string{dir}}
	defer w.close()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-hangup:
			cancel()
		case <-ctx.Done():
		}
	})
	fresh := f.session()
	fresh.Cwd = dir
	notes := a.holdNotes()
	defer notes()
	return tui.Run(ctx, tui.Config{
		Connect: w.connect, Owns: w.owns, Cwd: dir, Session: session, Theme: f.theme,
		New: fresh,
		In:  a.in, Out: a.out.w, Environ: a.environ,
	})
}

// addNew adds the flags of new sessions of programs that say the folder themselves.
func (f *workspaceFlags) addNew(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.agent, "agent", "", "agent of new sessions; 'terret agents' lists them")
	fl.StringVar(&f.model, "model", "", "model of new sessions, by the agent's name for it")
	fl.StringVar(&f.persona, "persona", "", "persona of new sessions, from agents/AGENT_*.md")
	fl.StringVar(&f.policy, "policy", "", "what to do if no rule decides: ask, auto-edit, plan, full-auto")
	fl.BoolVar(&f.worktree, "worktree", false, "new sessions work in a new git worktree of the folder")
}

// session is what new sessions are.
func (f *workspaceFlags) session() client.NewSession {
	return client.NewSession{
		Agent: f.agent, Model: f.model, Persona: f.persona, Policy: terret.PolicyNamed(f.policy), PermissionMode: f.permissionMode, Worktree: f.worktree,
	}
}

// holdNotes keeps what commands would say on standard error until the screen is free again.
func (a *app) holdNotes() (release func()) {
	was := a.err
	held := &heldNotes{}
	a.err = held
	return func() {
		a.err = was
		held.mu.Lock()
		defer held.mu.Unlock()
		_, _ = was.Write(held.text.Bytes())
	}
}

// heldNotes is safe for concurrent use. It keeps the first of what is written.
type heldNotes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxHeldNotes = 64 << 10

func (h *heldNotes) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p[:min(len(p), max(0, maxHeldNotes-h.text.Len()))])
	return len(p), nil
}

var _ io.Writer = (*heldNotes)(nil)

// workspace finds the server, or starts one in this process that others find too.
type workspace struct {
	app     *app
	folders []string // where sessions of our own server may work, beside those of the configuration
	secret  string   // the token of a program; empty means the person's, and a server of our own if none runs

	serves atomic.Bool // there is a server of our own

	mu     sync.Mutex
	found  *client.Client
	own    *serving
	done   chan error // of the own server
	closed bool
}

// owns never waits: the workspace asks while it takes a key.
func (w *workspace) owns() bool { return w.serves.Load() }

// giveUp is how long a stream looks for a server that is gone before connect does.
const giveUp = 2 * time.Second

func (w *workspace) connect(ctx context.Context) (*client.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, context.Canceled
	}
	secret := w.secret
	if secret == "" {
		tokens, err := w.app.tokens(true)
		if err != nil {
			return nil, err
		}
		if secret, err = tokens.AdminToken(); err != nil {
			return nil, err
		}
	}
	at, err := runningServer(w.app.data)
	if err != nil && terret.AsError(err).Code == terret.CodeNotFound && w.own == nil && w.secret == "" {
		if err := w.start(ctx); err != nil {
			return nil, err
		}
		at, err = placeOf(w.own.url, serveOptions{}), nil
	}
	if err != nil {
		return nil, err
	}
	return client.New(at.URL, client.Options{Token: secret, HTTP: at.client(), GiveUp: giveUp})
}

// start starts a server of our own. The caller holds w.mu.
func (w *workspace) start(ctx context.Context) error {
	sv, err := w.app.beginServing(context.WithoutCancel(ctx), serveOptions{addr: "127.0.0.1:0", roots: w.roots()})
	if err != nil {
		return err
	}
	w.own, w.done = sv, make(chan error, 1)
	w.serves.Store(true)
	go func() { w.done <- sv.serve() }() // close waits for it
	return nil
}

func (w *workspace) roots() []string { return slices.Concat(w.folders, w.app.cfg.Roots) }

func (w *workspace) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed = true; w.own == nil {
		return
	}
	w.own.stop()
	if err := <-w.done; err != nil && !errors.Is(err, context.Canceled) {
		w.app.logger.Error("the workspace's server failed", "error", err)
	}
	w.own.close()
}
