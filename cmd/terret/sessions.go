package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/tui"
)

func newSessions(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Aliases: []string{"session"}, Short: "List, show and change sessions", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return runSessionsLs(cmd.Context(), a, listOptions{limit: usualSessions})
	}}
	cmd.AddCommand(newSessionsLs(a), newSessionsShow(a), newSessionsContext(a), newSessionsRename(a), newSessionsRm(a), newSessionsPrune(a),
		newRewind(a, "undo"), newRewind(a, "redo"), newSessionsFork(a), newSessionsExport(a), newSessionsImport(a), newSessionsDiscover(a))
	cmd.AddCommand(newBranch(a)...)
	return cmd
}

type listOptions struct {
	json                     bool
	agent, cwd, state, query string
	limit                    int
}

func newSessionsLs(a *app) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List sessions, most recently used first", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSessionsLs(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&o.agent, "agent", "", "only sessions of this agent")
	cmd.Flags().StringVar(&o.cwd, "cwd", "", "only sessions in this folder")
	cmd.Flags().StringVar(&o.state, "state", "", "only sessions in this state")
	cmd.Flags().StringVarP(&o.query, "query", "q", "", "only sessions with these words in title, folder, model or agent")
	cmd.Flags().IntVar(&o.limit, "limit", usualSessions, "maximum number of sessions")
	return cmd
}

// usualSessions is how many sessions are listed if nobody says how many.
const usualSessions = 50

func runSessionsLs(ctx context.Context, a *app, o listOptions) error {
	_, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	f := terret.SessionFilter{Agent: a.harness.Agents.Name(o.agent), Cwd: o.cwd, Query: o.query}
	if o.state != "" {
		f.States = []terret.SessionState{terret.SessionState(o.state)}
		if err := f.States[0].Validate(); err != nil {
			return err
		}
	}
	page, err := upTo(o.limit, func(limit int, cursor string) (terret.Page[terret.Session], error) {
		f.Limit, f.Cursor = limit, cursor
		return a.harness.Store.ListSessions(ctx, f)
	})
	if err != nil {
		return err
	}
	if len(page.Items) == 0 && o.agent != "" {
		if err := a.hadAgent(ctx, f.Agent); err != nil {
			return err
		}
	}
	if o.json {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 && (o.agent != "" || o.cwd != "" || o.state != "" || o.query != "") {
		a.note("no sessions match")
		return nil
	}
	if len(page.Items) == 0 {
		a.note("no sessions yet; `terret run` or `terret chat` starts one")
		return nil
	}
	return listing[terret.Session]{head: "ID\tSTATE\tAGENT\tUSED\tCOST\tTITLE", row: func(s terret.Session) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", s.ID[:13], state(s), printable(s.Agent), ago(s.UpdatedAt), dollars(s.CostUSD),
			fit(oneLine(nonEmpty(s.Title, "(no title)")), 60))
	}}.print(a.out, page.Items)
}

// hadAgent refuses an agent that there neither is nor was.
func (a *app) hadAgent(ctx context.Context, name string) error {
	if slices.ContainsFunc(a.harness.Agents.Drivers(), func(d terret.Driver) bool { return d.Name() == name }) {
		return nil
	}
	page, err := a.harness.Store.ListSessions(ctx, terret.SessionFilter{Agent: name, Limit: 1})
	if err == nil && len(page.Items) == 0 {
		err = noAgent(name)
	}
	return err
}

// upTo reads pages until it has as many items as wanted.
func upTo[T any](wanted int, read func(limit int, cursor string) (terret.Page[T], error)) (terret.Page[T], error) {
	all := terret.Page[T]{Items: []T{}}
	if wanted < 1 {
		return all, terret.Invalid("limit", "%d must be at least 1", wanted)
	}
	for {
		page, err := read(wanted-len(all.Items), all.Next)
		all.Items, all.Next = append(all.Items, page.Items...), page.Next
		if err != nil || page.Next == "" || len(all.Items) >= wanted {
			return all, err
		}
	}
}

func state(s terret.Session) string {
	if s.OpenRequests > 0 {
		return "needs you"
	}
	return string(s.State)
}

func dollars(c terret.Cost) string {
	if c == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", c.Dollars())
}

func ago(t terret.Time) string {
	d := time.Since(t.Time)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// withSession runs fn with an engine on the session that an argument names.
func withSession(a *app, arg string, fn func(ctx context.Context, e *engine.Engine, s terret.Session) error) func(context.Context) error {
	return func(ctx context.Context) error {
		e, done, err := a.start(ctx, true)
		if err != nil {
			return err
		}
		defer done()
		var s terret.Session
		if arg == "" {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			s, err = a.latest(ctx, dir)
			if err != nil {
				return err
			}
		} else if s, err = a.resolve(ctx, arg); err != nil {
			return err
		}
		return fn(ctx, e, s)
	}
}

func newSessionsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show [SESSION]", Short: "Show a session and its turns", Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, first(args), func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				return a.showSession(ctx, e, s, asJSON)
			})(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSessionsContext(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "context [SESSION]", Short: "Show what fills the agent's context, as far as the agent reports it", Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, first(args), func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				u, err := e.Context(ctx, s.ID)
				switch {
				case err != nil:
					return err
				case asJSON:
					return a.printJSON(u)
				}
				w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
				for _, p := range u.Parts {
					fmt.Fprintf(w, "%d\t  %s\n", p.Tokens, oneLine(p.Name))
				}
				fmt.Fprintf(w, "%d\t  used", u.Used)
				if u.Max > 0 {
					fmt.Fprintf(w, " of %d (%d%%)", u.Max, u.Used*100/u.Max)
				}
				fmt.Fprintln(w)
				return w.Flush()
			})(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (a *app) showSession(ctx context.Context, e *engine.Engine, s terret.Session, asJSON bool) error {
	turns, err := a.harness.Store.Turns(ctx, s.ID)
	if err != nil {
		return err
	}
	servers, err := e.MCPServers(ctx, s.ID)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(struct {
			terret.Session
			Turns   []terret.Turn      `json:"turns"`
			Servers []terret.MCPServer `json:"mcp_servers,omitempty"`
		}{s, turns, servers})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"session", s.ID},
		{"title", oneLine(s.Title)},
		{"state", state(s)},
		{"agent", printable(strings.TrimSpace(s.Agent + " " + s.Model))},
		{"folder", printable(s.Cwd)},
		{"policy", string(s.Policy)},
		{"events", fmt.Sprint(s.LastSeq)},
		{"tokens", fmt.Sprintf("%d in, %d out", s.Usage.Input+s.Usage.CacheRead+s.Usage.CacheWrite, s.Usage.Output)},
		{"cost", dollars(s.CostUSD)},
		{"created", s.CreatedAt.Local().Format(time.DateTime)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	for _, m := range servers {
		fmt.Fprintf(w, "mcp\t%s\n", oneLine(strings.TrimSuffix(m.Name+" "+m.Status+": "+m.Error, ": ")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, t := range turns {
		fmt.Fprintf(a.out, "\nturn %d  %s", i+1, t.State)
		if t.Undone {
			fmt.Fprint(a.out, ", undone")
		}
		fmt.Fprintf(a.out, "  %s\n  › %s\n", t.StartedAt.Local().Format(time.TimeOnly), fit(oneLine(terret.TextOf(t.Prompt)), 100))
		if t.Error != nil {
			fmt.Fprintf(a.out, "  %s: %s\n", t.Error.Code, oneLine(t.Error.Message))
		}
	}
	if err := a.showConversation(ctx, e, s); err != nil {
		return err
	}
	if n := len(turns); n > 0 {
		if command, err := a.harness.Agents.ByHand(s, terret.TextOf(turns[n-1].Prompt)); err == nil { // most agents have none
			fmt.Fprintf(a.out, "\nto run the last turn without Terret, in that folder:\n  %s\n", printable(command))
		}
	}
	return nil
}

// theme is how a conversation is drawn for a stream; empty is plain text.
func (a *app) theme(stream any) string {
	if !a.colour(stream) {
		return ""
	}
	return nonEmpty(a.getenv("TERRET_THEME"), "dark")
}

// showConversation prints what was said and done.
func (a *app) showConversation(ctx context.Context, e *engine.Engine, s terret.Session) error {
	said := tui.NewTranscript(s, a.theme(a.out.w))
	for entry, err := range e.Events(ctx, engine.EventQuery{Session: s.ID}) {
		if err != nil {
			return err
		}
		if ev, err := entry.Decode(); err == nil { // what nobody can read is in `terret events`
			said.Add(ev)
		}
	}
	columns, _ := size(a.out.w)
	fmt.Fprintln(a.out)
	return said.Write(a.out, columns)
}

func newSessionsRename(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rename SESSION TITLE", Short: "Rename a session", Args: exactArgs("SESSION", "TITLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, args[0], func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				return e.Update(ctx, s.ID, terret.SessionUpdated{Title: &args[1]}, a.user())
			})(cmd.Context())
		},
	}
}

func newRewind(a *app, direction string) *cobra.Command {
	var force, list bool
	var restore, file string
	cmd := &cobra.Command{
		Use: direction + " [SESSION]", Args: maxOneArg,
		Short: map[string]string{"undo": "Undo what the last turn changed", "redo": "Bring back what undo took"}[direction],
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, first(args), func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				switch {
				case list:
					return a.listCopies(ctx, e, s)
				case restore != "":
					return a.restoreCopy(ctx, e, s, restore, force)
				case file != "":
					return a.takeBack(ctx, e, s, file)
				}
				how, what := e.Undo, "undone"
				if direction == "redo" {
					how, what = e.Redo, "brought back"
				}
				r, err := how(ctx, s.ID, a.user(), force)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.out, rewoundText(r, what))
				return err
			})(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that have changed since, and keep a copy of them")
	if direction == "undo" {
		cmd.Flags().BoolVar(&list, "list", false, "list the copies of files that --force has overwritten in this folder")
		cmd.Flags().StringVar(&restore, "restore", "", "put the files of the copy `ID` back")
		cmd.Flags().StringVar(&file, "file", "", "undo only what the last turn that changed the file at `PATH` did to it; the conversation stays")
		cmd.MarkFlagsMutuallyExclusive("list", "restore", "file")
		cmd.MarkFlagsMutuallyExclusive("file", "force")
		cmd.MarkFlagsMutuallyExclusive("list", "force")
	}
	return cmd
}

func newSessionsFork(a *app) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "fork SESSION", Short: "Copy a session", Args: exactArgs("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, args[0], func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				n, err := e.Fork(ctx, s.ID, at)
				if err == nil {
					_, err = fmt.Fprintln(a.out, n.ID)
				}
				return err
			})(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "copy up to and including this message (default: all)")
	return cmd
}
