package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// Config is what the workspace needs of its surroundings.
type Config struct {
	// Connect finds the server, or starts one. It is called again when the server is gone.
	Connect func(ctx context.Context) (*client.Client, error)
	// Cwd is the folder in which new sessions work; New is what else they are made of.
	Cwd string
	New client.NewSession
	// Session is the one to open; empty means to begin a new one.
	Session string
	// Theme is dark, light, high-contrast, none or ascii; empty lets the terminal decide.
	Theme string
	// Owns reports whether the server ends with the workspace, and with it what works there.
	Owns func() bool

	In      io.Reader
	Out     io.Writer
	Environ []string
}

// Run shows the workspace until the person leaves, the context ends or the terminal is gone.
// The terminal is then as it was, also after a panic. Everything that it started has ended
// when it returns.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	m := newModel(ctx, cfg, &wait)
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out), tea.WithEnvironment(cfg.Environ)}
	if m.theme.name == "none" || m.theme.name == "ascii" {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	p := tea.NewProgram(m, options...)
	_, err := p.Run()
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return terret.Errorf(terret.CodeInternal, "the workspace has crashed; its sessions go on, and `terret` shows them again")
	case err == nil, errors.Is(err, tea.ErrInterrupted), ctx.Err() != nil:
		return m.failed
	}
	return fmt.Errorf("the terminal: %w", err)
}

func environ(env []string, name string) string {
	value := ""
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			value = v
		}
	}
	return value
}

// chooseTheme is the theme that is asked for, or the one that fits the terminal.
func chooseTheme(cfg Config) *theme {
	name := firstOf(cfg.Theme, environ(cfg.Environ, "TERRET_THEME"))
	if name != "" {
		return themeNamed(name)
	}
	locale := strings.ToUpper(firstOf(environ(cfg.Environ, "LC_ALL"), environ(cfg.Environ, "LC_CTYPE"), environ(cfg.Environ, "LANG")))
	if !strings.Contains(locale, "UTF") {
		return themeNamed("ascii")
	}
	if environ(cfg.Environ, "NO_COLOR") != "" {
		return themeNamed("none")
	}
	return themeNamed("dark")
}

// editor is the person's editor, with its arguments.
func editor(env []string) []string {
	words := strings.Fields(firstOf(environ(env, "VISUAL"), environ(env, "EDITOR"), "vi"))
	if len(words) == 0 {
		return []string{"vi"}
	}
	return words
}

// temporary writes a text to a file that only the person can read.
func temporary(pattern, text string) (string, error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
