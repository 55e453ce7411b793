package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// runOptions are the options of `terret run`.
type runOptions struct {
	sessionFlags
	json        bool
	view        string
	lastMessage string
	prompt      string
}

func newRun(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT]",
		Short: "Run one turn, then exit",
		Long:  "Run one turn, then exit. The prompt is the argument, or standard input (also as -).\nText goes to standard output as it comes, activity to standard error.",
		Example: "  terret run \"list files\"\n" +
			"  terret run --policy full-auto \"create hello.txt containing hi, then run: cat hello.txt\"\n" +
			"  git diff | terret run --json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.prompt = strings.Join(args, " "); o.prompt == "-" {
				o.prompt = "" // readPrompt reads standard input anyway
			}
			return runRun(cmd.Context(), a, o)
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print events as JSON, one per line")
	cmd.Flags().StringVar(&o.view, "view", "", "print events in another dialect instead, one JSON value per line: "+strings.Join(view.Names(), ", "))
	cmd.Flags().StringVar(&o.lastMessage, "output-last-message", "", "write the agent's last message to this file")
	return cmd
}

// maxPrompt bounds what is read from standard input.
const maxPrompt = 32 << 20

// readPrompt takes the prompt from standard input, if it is not an argument. With both,
// the input follows the argument.
func readPrompt(a *app, arg string) (string, error) {
	text := arg
	if !isTerminal(a.in) && !isDevNull(a.in) {
		if arg != "" { // a pipe may be open by accident
			note := time.AfterFunc(time.Second, func() { a.note("also reading standard input until it ends; use </dev/null to prevent that") })
			defer note.Stop()
		}
		b, err := io.ReadAll(io.LimitReader(a.in, maxPrompt+1))
		if err != nil {
			return "", terret.Invalid("prompt", "cannot read standard input: %w", err)
		}
		if len(b) > maxPrompt {
			return "", terret.Invalid("prompt", "it must not be larger than %d MB", maxPrompt>>20)
		}
		if in := strings.TrimRight(string(b), "\n"); in != "" {
			if text != "" {
				text += "\n\n"
			}
			text += in
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", terret.Invalid("prompt", "it is empty; say what the agent should do, as an argument or on standard input")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

func isDevNull(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	text, err := readPrompt(a, o.prompt)
	if err != nil {
		return err
	}
	if o.view != "" {
		if _, err := view.New(o.view, view.Options{}); err != nil {
			return err
		}
	}
	quiet := o.json || o.view != "" // standard output is for programs
	interactive := a.interactive() && !quiet
	if err := o.into(a, interactive); err != nil {
		return err
	}
	// A person elsewhere may answer, but only if the user asked for that.
	unattended := !interactive && terret.PolicyNamed(o.policy) != terret.PolicyAsk
	e, closeEngine, err := a.start(ctx, unattended)
	if err != nil {
		return err
	}
	defer closeEngine()
	if o.branch == "" {
		o.branch = text
	}
	s, err := o.session(ctx, a, e, interactive)
	if err != nil {
		return err
	}
	c := &conversation{app: a, engine: e, session: s, after: s.LastSeq, json: o.json && o.view == "", raw: o.raw, timeout: o.timeout}
	c.render = newRenderer(&screen{words: a.out, talk: a.err, colour: a.colour(a.err) && !quiet})
	if o.view != "" {
		if c.view, err = view.New(o.view, view.Options{Session: s}); err != nil {
			return err
		}
	}
	if interactive {
		c.asker = &asker{screen: c.render.screen, keys: a.keyboard(), by: a.user()}
	}
	done, err := c.turn(ctx, text)
	c.render.screen.idle()
	if o.lastMessage != "" {
		if wErr := os.WriteFile(o.lastMessage, []byte(done.Text), 0o644); wErr != nil {
			err = errors.Join(err, terret.Invalid("output-last-message", "%w", wErr))
		}
	}
	if !quiet {
		a.footer(done, s, err)
	}
	return err
}

// footer prints what the turn cost, and how to continue.
func (a *app) footer(d terret.TurnComplete, s terret.Session, err error) {
	parts := []string{"session " + s.ID[:13]}
	if n := d.Usage.Input + d.Usage.Output + d.Usage.CacheRead + d.Usage.CacheWrite; n > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", n))
	}
	if d.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", d.CostUSD.Dollars()))
	}
	if len(d.Denials) > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", len(d.Denials)))
	}
	if err == nil {
		parts = append(parts, elapsedMS(d.DurationMS))
	}
	a.note("%s", strings.Join(parts, " · "))
	for _, x := range d.Denials {
		a.note("  denied: %s %s: %s", printable(x.Tool), fit(oneLine(inputSummary(x.Input)), 60), oneLine(x.Reason))
	}
}

func elapsedMS(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%dms", ms)
	}
	return fmt.Sprintf("%.1fs", float64(ms)/1000)
}
