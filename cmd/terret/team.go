package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/work/team"
)

func newTeam(a *app) *cobra.Command {
	list := newTeamList(a)
	cmd := &cobra.Command{
		Use: "team", Short: "Named agents that write to each other and to you", Args: exactArgs(),
		Long: "Named agents that write to each other and to you.\n\n" +
			"Messages are kept until they are dealt with: by a running `terret serve`, or by\n" +
			"`terret team task`, which runs the team until it has an answer.",
		RunE: list.RunE,
	}
	cmd.AddCommand(newTeamSpawn(a), list, newTeamTask(a), newTeamMessage(a), newTeamHistory(a), newTeamShutdown(a), newTeamTopology(a))
	return cmd
}

// withTeam runs fn with the team. If acts is set, it is refused inside an agent: agents
// write to each other by what they say, and not in a person's name.
func withTeam(ctx context.Context, a *app, acts bool, fn func(ctx context.Context, r *team.Registry) error) error {
	return a.withWork(ctx, work{acts: acts, alone: !a.interactive()}, func(ctx context.Context) error {
		r, err := a.harness.Team(ctx, a.sessions(false))
		if err != nil {
			return err
		}
		defer r.Close()
		return fn(ctx, r)
	})
}

// work is what a command does with several agents.
type work struct {
	acts    bool // it starts or changes something, which only a person may
	alone   bool // there is nobody to ask
	stops   bool // an interrupt ends it as such
	refused string
}

// withWork runs fn with the harness open.
func (a *app) withWork(ctx context.Context, w work, fn func(ctx context.Context) error) error {
	if w.acts && access.Inside(a.environ) {
		return access.ErrInside(nonEmpty(w.refused, "only a person can do this"))
	}
	_, done, err := a.start(ctx, w.alone)
	if err != nil {
		return err
	}
	defer done()
	if !w.stops {
		return fn(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer interrupts(func() { cancel(terret.ErrInterrupted) }, func() {})()
	return fn(ctx)
}

type spawnOptions struct {
	team.Config
	mode, restart string
	person        bool
}

func newTeamSpawn(a *app) *cobra.Command {
	var o spawnOptions
	cmd := &cobra.Command{
		Use: "spawn NAME", Short: "Add a member to the team", Args: exactArgs("NAME"),
		Long: "Add a member to the team. An agent edits files in its folder without asking, unless\n" +
			"--permission-mode says otherwise. It starts with its first message.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if !cmd.Flags().Changed("tools") {
				o.AllowedTools = nil
			}
			return runTeamSpawn(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Type, "agent", "", "agent to use; 'terret agents' lists them")
	fl.BoolVar(&o.person, "person", false, "a person, who has a mailbox only")
	fl.StringVar(&o.Model, "model", "", "model, by the agent's name for it")
	fl.StringVar(&o.Cwd, "cwd", "", "folder to work in (default: this one)")
	fl.StringVar(&o.Instructions, "instructions", "", "what to add to the agent's system prompt")
	fl.StringSliceVar(&o.AllowedTools, "tools", nil, "the agent's tools, which it uses without asking (default: all)")
	fl.StringVar(&o.PermissionMode, "permission-mode", "", "the agent's own permission mode")
	fl.StringSliceVar(&o.SettingSources, "setting-sources", nil, "which of its own settings the agent reads (default: none)")
	fl.StringVar(&o.mode, "mode", "", "client: one conversation; query: each message is a conversation of its own (default: query for the agent sdk, else client)")
	fl.StringSliceVar(&o.Topics, "topic", nil, "topic to subscribe to (repeatable)")
	fl.StringVar(&o.ReportsTo, "reports-to", "", "its lead, in a hierarchy")
	fl.StringVar(&o.restart, "restart", string(team.RestartOnFailure), "what to do when it fails: on-failure or never")
	return cmd
}

func runTeamSpawn(ctx context.Context, a *app, o spawnOptions) error {
	c := o.Config
	c.Restart.Policy = team.RestartPolicy(o.restart)
	return withTeam(ctx, a, true, func(ctx context.Context, r *team.Registry) error {
		switch {
		case o.person:
			c = team.Config{Name: c.Name, Type: team.Person, Topics: c.Topics}
		case c.Type == "":
			s := terret.Session{Model: c.Model}
			a.defaults(ctx, &s, false)
			c.Type = s.Agent
			c.Model = s.Model
		}
		switch {
		case o.person:
		case o.mode != "":
			c.Credentials = map[string]any{"mode": o.mode}
		default:
			c = c.Lasting()
		}
		m, err := r.Spawn(ctx, a.user(), c)
		if err != nil {
			return about(err, "credentials.mode", "mode")
		}
		fmt.Fprintln(a.out, m.Name)
		if missing := a.harness.Agents.Missing(ctx, a.harness.Agents.Name(m.Type)); missing != "" {
			a.note("%s", missing)
		}
		return nil
	})
}

func newTeamList(a *app) *cobra.Command {
	members := listing[httpapi.TeamMember]{
		none: "the team has no members yet; `terret team spawn NAME` adds one",
		head: "NAME\tAGENT\tSTATE\tMAIL\tSESSION\tDETAIL",
		row: func(m httpapi.TeamMember) string {
			return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", m.Name, m.Agent, m.State, m.Mail, shortID(m.Session), fit(oneLine(m.Detail), 60))
		},
	}
	return members.command(a, "List the members of the team", func(ctx context.Context, show func([]httpapi.TeamMember, error) error) error {
		return withTeam(ctx, a, false, func(ctx context.Context, r *team.Registry) error {
			all, err := r.List(ctx)
			out := make([]httpapi.TeamMember, 0, len(all))
			for _, m := range all {
				out = append(out, httpapi.TeamMemberOf(m))
			}
			return show(out, err)
		})
	})
}

func newTeamTask(a *app) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "task MEMBER TEXT...", Short: "Give members a task and wait for the answer", Args: minTwoArgs,
		Long: "Give members a task and wait for the answer. Several members are separated by commas;\n" +
			"all is everybody, #topic its subscribers. If no server runs the team, this does.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTeamTask(cmd.Context(), a, args, asJSON, timeout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers as JSON, one per line")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait (default: as long as it takes)")
	return cmd
}

func runTeamTask(ctx context.Context, a *app, args []string, asJSON bool, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return withTeam(ctx, a, true, func(ctx context.Context, r *team.Registry) error {
		ctx, cancel := context.WithCancelCause(ctx)
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel(nil)
		defer interrupts(func() { cancel(terret.ErrInterrupted) }, func() {})()
		m, err := r.Bus.Send(ctx, team.NewMessage(a.user(), strings.Join(args[1:], " "), strings.Split(args[0], ",")...))
		if err != nil {
			return err
		}
		work.Go(func() {
			if err := r.Run(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
		answers, err := r.Bus.Await(ctx, m.ID)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		return a.printAnswers(ctx, r, answers, asJSON)
	})
}

// printAnswers prints answers, and notes that they were read. A member that could not
// answer is an error.
func (a *app) printAnswers(ctx context.Context, r *team.Registry, answers []team.Record, asJSON bool) error {
	var failed error
	for _, m := range answers {
		switch {
		case asJSON:
			if err := a.printLine(httpapi.TeamMessageOf(m)); err != nil {
				return err
			}
		case m.Type == team.System:
			failed = errors.Join(failed, terret.Errorf(terret.CodeExecutionError, "%s", m.Content))
		case len(answers) > 1:
			fmt.Fprintf(a.out, "%s: %s\n", m.Sender, printable(m.Content))
		default:
			fmt.Fprintln(a.out, printable(m.Content))
		}
		if err := r.Bus.Read(ctx, m.ID, a.user()); err != nil {
			return err
		}
	}
	return failed
}

func newTeamMessage(a *app) *cobra.Command {
	var reply string
	cmd := &cobra.Command{
		Use: "message MEMBER TEXT...", Aliases: []string{"send"}, Short: "Send a message and do not wait", Args: minTwoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTeam(cmd.Context(), a, true, func(ctx context.Context, r *team.Registry) error {
				m := team.NewMessage(a.user(), strings.Join(args[1:], " "), strings.Split(args[0], ",")...)
				sent, err := r.Bus.Send(ctx, m.ReplyTo(reply))
				if err == nil {
					fmt.Fprintln(a.out, sent.ID)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&reply, "reply-to", "", "the message to answer")
	return cmd
}

func newTeamHistory(a *app) *cobra.Command {
	var q team.HistoryQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history [MEMBER]", Short: "Show what members wrote to each other", Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Member = args[0]
			}
			return withTeam(cmd.Context(), a, false, func(ctx context.Context, r *team.Registry) error {
				return a.printHistory(ctx, r, q, asJSON)
			})
		},
	}
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "keep printing new messages")
	cmd.Flags().StringVar(&q.Conversation, "conversation", "", "only the conversation that this message began")
	cmd.Flags().Int64Var(&q.After, "after", 0, "only messages with a greater number")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one message per line")
	return cmd
}

func (a *app) printHistory(ctx context.Context, r *team.Registry, q team.HistoryQuery, asJSON bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer interrupts(cancel, func() {})()
	none := true
	for m, err := range r.Bus.History(ctx, q) {
		if err != nil && ctx.Err() != nil {
			return nil // Ctrl-C ends it
		}
		if err != nil {
			return err
		}
		none = false
		if asJSON {
			if err := a.printLine(httpapi.TeamMessageOf(m)); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.out, "%s  %s > %s: %s\n", m.Timestamp.Local().Format(time.TimeOnly), m.Sender, strings.Join(m.Recipients, ", "), printable(m.Content))
	}
	if none && q == (team.HistoryQuery{Member: q.Member}) && q.Member != "" { // one who has left has a history, too
		_, err := r.Get(ctx, q.Member)
		return err
	}
	return nil
}

func newTeamShutdown(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "shutdown NAME...", Short: "Take members out of the team, and stop what they do", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return terret.Invalid("arguments", "name members, or use --all")
			}
			return withTeam(cmd.Context(), a, true, func(ctx context.Context, r *team.Registry) error {
				if all {
					return r.ShutdownAll(ctx, a.user())
				}
				for _, name := range args {
					if err := r.Shutdown(ctx, a.user(), name); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everybody")
	return cmd
}

func newTeamTopology(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "topology [KIND|FILE]", Short: "Show or change who may write to whom", Args: maxOneArg,
		Long: "Show or change who may write to whom: broadcast, hierarchical, or a JSON file such as\n" +
			`{"kind": "custom", "routes": {"lead": ["all"], "tester": ["lead"]}}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTeam(cmd.Context(), a, len(args) > 0, func(ctx context.Context, r *team.Registry) error {
				if len(args) == 0 {
					t, err := r.Bus.Topology(ctx)
					if err != nil {
						return err
					}
					return a.printJSON(t)
				}
				t, err := readTopology(args[0])
				if err != nil {
					return err
				}
				return r.Bus.SetTopology(ctx, a.user(), t)
			})
		},
	}
}

// readTopology is a kind, or what a file says.
func readTopology(arg string) (t team.Topology, err error) {
	if err := (team.Topology{Kind: team.TopologyKind(arg)}).Validate(); err == nil {
		return team.Topology{Kind: team.TopologyKind(arg)}, nil
	}
	text, err := os.ReadFile(arg)
	if err != nil {
		return t, terret.Invalid("topology", "it is neither a kind nor a file: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, terret.Invalid("topology", "%s: %w", arg, err)
	}
	return t, nil
}

// printLine prints JSON on one line.
func (a *app) printLine(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
