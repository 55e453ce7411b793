package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
	"mvdan.cc/sh/v3/syntax"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/cmd/terret/internal/logfile"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/worktree"
)

// app is what commands share: the terminal, the environment, and the store and the
// engine, which are opened at first use.
type app struct {
	in      io.Reader
	out     *output
	err     io.Writer
	environ []string

	data      string // flag --data, then the data folder
	dataGiven bool   // the flag was given
	store     string // flag --store

	// About the command, to be set before prepare.
	dir    string // the project's folder; empty means the working directory
	works  bool   // an agent works there
	asks   bool   // a person can be asked whether to trust the folder
	quiet  bool   // the command itself says what is trusted
	serves bool   // it is a server

	demoOnce              sync.Once // says that the demo model is used
	demo                  atomic.Bool
	keysOnce              sync.Once
	keys                  *keyboard
	prepareOnce, openOnce sync.Once
	prepared, opened      error
	cfg                   config.Config
	loaded                config.Loaded // what cfg came from
	trust                 *trust.Store
	logFile               *logfile.File         // since prepare
	logger                *slog.Logger          // since prepare
	harness               *installation.Harness // since prepare; its store since open, its engine since start
}

func newApp(in io.Reader, out, err io.Writer, environ []string) *app {
	return &app{in: in, out: &output{w: out}, err: err, environ: environ}
}

func (a *app) getenv(name string) string {
	for _, entry := range slices.Backward(a.environ) {
		if k, v, _ := strings.Cut(entry, "="); k == name {
			return v
		}
	}
	return ""
}

// isTerminal reports whether the stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// interactive reports whether a person can be asked here.
func (a *app) interactive() bool {
	return isTerminal(a.in) && isTerminal(a.err) && a.getenv("CI") == ""
}

// keyboard is the keyboard of the person at this terminal. All readers share it.
func (a *app) keyboard() *keyboard {
	a.keysOnce.Do(func() {
		a.keys = newKeyboard(a.in)
		a.keys.edits = a.interactive() && a.getenv("TERM") != "dumb"
	})
	return a.keys
}

// colour reports whether the stream supports colours and cursor movement.
func (a *app) colour(stream any) bool {
	return isTerminal(stream) && a.getenv("NO_COLOR") == "" && a.getenv("CI") == "" && a.getenv("TERM") != "dumb"
}

// home is Terret's folder: from the flag, the settings, or the platform's default.
func (a *app) home() string {
	if a.data != "" {
		return a.data
	}
	if a.cfg.Data != "" {
		return a.cfg.Data
	}
	return config.DataDir(a.environ)
}

// commandLine is a terret command to type in another terminal, with the same data folder
// and store. A password is left out: what we print ends up in logs.
func (a *app) commandLine(args ...string) string {
	words := []string{"terret"}
	if a.dataGiven {
		dir, _ := syntax.Quote(a.data, syntax.LangBash) // it fails only for NUL, which no path contains
		words = append(words, "--data", dir)
	}
	if a.store != "" {
		address, _ := syntax.Quote(config.WithoutPassword(a.store), syntax.LangBash) // as above
		words = append(words, "--store", address)
	}
	return strings.Join(append(words, args...), " ")
}

// user is the name of the current user in the log.
func (a *app) user() string {
	for _, name := range []string{"USER", "LOGNAME"} {
		if v := a.getenv(name); v != "" {
			return v
		}
	}
	return "user"
}

// prepare reads the settings and makes the drivers: everything that needs no database.
func (a *app) prepare() error {
	a.prepareOnce.Do(func() { a.prepared = a.readSettings() })
	return a.prepared
}

func (a *app) readSettings() error {
	if runtime.GOOS == "windows" {
		return terret.Errorf(terret.CodeStartupRefused, "terret does not run on Windows yet; use WSL")
	}
	if err := a.loadConfig(); err != nil {
		return err
	}
	if err := a.chooseStore(); err != nil {
		return err
	}
	a.dataGiven = a.data != ""
	if a.serves && a.cfg.Pool.Size == 0 {
		a.cfg.Pool.Size = 1
	}
	home := a.home()
	if home == "" {
		return terret.Errorf(terret.CodeStartupRefused, "there is no home folder to keep sessions in; set TERRET_HOME or use --data FOLDER")
	}
	var err error
	if a.data, err = filepath.Abs(home); err != nil {
		return err
	}
	if err = a.openLog(); err != nil {
		return err
	}
	a.harness, err = installation.New(assemble.Options{
		SandboxHelper: sandboxHelper(),
		Home:          a.data, Env: a.environ, Config: a.cfg, UserFile: config.UserFile(a.environ), Product: a.cfg.ProductName, MockScript: a.getenv("TERRET_MOCK_SCRIPT"), Files: true, Log: a.logger,
	})
	return err
}

// chooseStore lets the flag decide. Everybody on the machine can read it, so it must not
// hold a password.
func (a *app) chooseStore() error {
	if a.store == "" {
		return nil
	}
	if err := config.CheckStore(a.store); err != nil {
		return terret.Invalid("store", "--store: %w", err)
	}
	u, err := url.Parse(a.store)
	if err != nil {
		return terret.Invalid("store", "--store: the address cannot be read; it looks like postgres://user@host/database")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return terret.Invalid("store", "--store must not hold a password, since others on this machine can see it; put the address into TERRET_STORE or the configuration, or the password into PGPASSWORD or ~/.pgpass")
	}
	a.cfg.Store = a.store
	return nil
}

// open opens the store. First it ends agents that an earlier terret left behind.
func (a *app) open(ctx context.Context) error {
	a.openOnce.Do(func() { a.opened = a.openStore(ctx) })
	return a.opened
}

func (a *app) openStore(ctx context.Context) error {
	if err := a.prepare(); err != nil {
		return err
	}
	if n, err := guard.Sweep(ctx); n > 0 {
		fmt.Fprintf(a.err, "ended %d processes that an earlier terret left behind\n", n)
	} else if err != nil {
		fmt.Fprintf(a.err, "warning: cannot look for processes left behind: %v\n", err)
	}
	return a.harness.Open(ctx)
}

// openLog makes the operator's log: a file in the data folder, created with its first
// line. Commands themselves say what users must know. With TERRET_DEBUG the log also
// goes to standard error.
func (a *app) openLog() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.cfg.LogLevel)); err != nil {
		return terret.Invalid("log_level", "%w", err)
	}
	clean := sync.OnceValue(func() *redact.Redactor { return redact.New(redact.FromEnv(a.environ)) })
	a.logFile = logfile.New(filepath.Join(a.data, "terret.log"), func(line []byte) []byte { return clean().Bytes(line) })
	handler := slog.Handler(slog.NewTextHandler(a.logFile, &slog.HandlerOptions{Level: level}))
	if a.getenv("TERRET_DEBUG") != "" {
		handler = slog.NewMultiHandler(handler, slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	a.logger = slog.New(handler).With("pid", os.Getpid())
	return nil
}

// start opens the store and starts an engine on it. The caller must call the returned
// function, which closes both.
func (a *app) start(ctx context.Context, unattended bool) (*engine.Engine, func(), error) {
	if err := a.open(ctx); err != nil {
		return nil, nil, err
	}
	if err := a.harness.Start(ctx, unattended); err != nil {
		return nil, nil, err
	}
	return a.harness.Engine, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := a.harness.Engine.Close(ctx); err != nil {
			fmt.Fprintln(a.err, "warning:", err)
		}
	}, nil
}

func (a *app) close() error {
	if a.harness == nil {
		return nil
	}
	return errors.Join(a.harness.Close(context.Background()), a.logFile.Close()) // the engine is already closed
}

// resolve finds a session by its id or a unique prefix of it.
func (a *app) resolve(ctx context.Context, id string) (terret.Session, error) {
	return a.find(ctx, id, "session", "terret sessions ls", terret.SessionFilter{})
}

// resolveWork finds the log of a run, a review or a race in the same way. Command is the
// one that lists them.
func (a *app) resolveWork(ctx context.Context, id, what, command string) (terret.Session, error) {
	return a.find(ctx, id, what, "terret "+command+" list", terret.SessionFilter{Agent: engine.NoAgent})
}

func (a *app) find(ctx context.Context, id, what, lister string, f terret.SessionFilter) (terret.Session, error) {
	if id == "" || strings.Trim(id, "0123456789abcdef-") != "" || strings.HasPrefix(id, "-") {
		return terret.Session{}, terret.Invalid(what, "%q is not a %s id; `%s` lists them", id, what, lister)
	}
	f.IDPrefix, f.Limit = id, 2
	page, err := a.harness.Store.ListSessions(ctx, f)
	if err != nil {
		return terret.Session{}, err
	}
	switch len(page.Items) {
	case 0:
		return terret.Session{}, terret.Errorf(terret.CodeSessionNotFound, "there is no %s %s; `%s` lists them", what, id, lister)
	case 1:
		return page.Items[0], nil
	}
	return terret.Session{}, terret.Invalid(what, "several %ss begin with %s; type more of the id", what, id)
}

// latest is the session of a folder that was used last: one that works there or, if there
// is none, one whose worktree was made from it. Of a fleet, sessions of other machines in a
// folder with the same path do not count.
func (a *app) latest(ctx context.Context, dir string) (terret.Session, error) {
	s, found, err := a.firstOf(ctx, terret.SessionFilter{Cwd: dir}, func(terret.Session) bool { return true })
	if err == nil && !found {
		s, found, err = a.firstOf(ctx, terret.SessionFilter{}, func(s terret.Session) bool {
			origin, ok := worktree.Origin(a.data, s.Cwd)
			return ok && origin == dir
		})
	}
	if err == nil && !found {
		err = terret.Errorf(terret.CodeSessionNotFound, "there is no session in %s yet; `terret run` starts one", dir)
	}
	return s, err
}

// firstOf is the first session on this machine that fits.
func (a *app) firstOf(ctx context.Context, f terret.SessionFilter, fits func(terret.Session) bool) (terret.Session, bool, error) {
	here := a.harness.Node()
	f.Limit = 50
	for {
		page, err := a.harness.Store.ListSessions(ctx, f)
		if err != nil {
			return terret.Session{}, false, err
		}
		for _, s := range page.Items {
			if (s.Node == "" || s.Node == here) && fits(s) {
				return s, true, nil
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return terret.Session{}, false, nil
		}
	}
}

// endings are the signals that end the program: a request, and the end of the terminal,
// unless nohup has said that we outlive it.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// interrupts calls the first function at the first Ctrl-C and the second at the next.
// The returned function ends that.
func interrupts(first, second func()) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, append(endings(), os.Interrupt)...)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n == 0 {
					wait.Go(first) // in the background, so that the next one is not missed
				} else {
					second()
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wait.Wait()
	}
}

// about is an error about a field of the API, by what the command line calls the field.
func about(err error, field, name string) error {
	if terret.AsError(err).Field != field {
		return err
	}
	return terret.Invalid(name, "%s", strings.TrimPrefix(err.Error(), field+": "))
}

// exitCode returns the exit code, and prints the error unless it has been shown.
func (a *app) exitCode(err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitPipe // the reader has closed its end
	}
	if errors.Is(err, errVerdict) {
		return exitFail
	}
	fmt.Fprintln(a.err, "terret:", printable(err.Error()))
	e := terret.AsError(err)
	if code := e.Code.Class().Exit; code != 0 {
		return code
	}
	return 1
}
