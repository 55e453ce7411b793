package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func newPending(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "pending", Short: "List requests that wait for a decision, from all sessions", Args: exactArgs(),
		Long: "List requests that wait for a decision, from all sessions, with the command that\nanswers each of them.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runPending(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runPending(ctx context.Context, a *app, asJSON bool) error {
	_, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	page, err := a.harness.Store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen, Limit: 1000})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 {
		a.note("nothing is waiting for a decision")
	}
	for _, r := range page.Items {
		what, how := a.describeRequest(r)
		fmt.Fprintf(a.out, "%s  session %s  %s\n  %s\n  %s\n", r.RequestID, r.Session[:13], ago(r.CreatedAt), what, how)
	}
	return nil
}

// describeRequest describes a request in one line, and returns the command that answers
// it.
func (a *app) describeRequest(r terret.Request) (what, how string) {
	decide := a.commandLine("decide", r.RequestID)
	switch r.Gate {
	case terret.GatePermission:
		var p terret.PermissionRequest
		if json.Unmarshal(r.Data, &p) == nil {
			return fit(oneLine(useOf(p)), 160), decide + " allow  (or deny)"
		}
	case terret.GateQuestion:
		var q terret.QuestionRequest
		if json.Unmarshal(r.Data, &q) == nil {
			var parts []string
			for _, one := range q.Questions {
				labels := make([]string, len(one.Options))
				for i, o := range one.Options {
					labels[i] = o.Label
				}
				parts = append(parts, oneLine(one.Text)+" ["+oneLine(strings.Join(labels, ", "))+"]")
			}
			return strings.Join(parts, "; "), decide + " answer ANSWER"
		}
	case terret.GatePlan:
		var p terret.PlanRequest
		if json.Unmarshal(r.Data, &p) == nil {
			return "plan: " + fit(oneLine(p.Plan), 150), decide + " approve  (or revise)"
		}
	default:
		if isHook(r.Gate) {
			return fit(hookText(r.Gate, r.Data), 160), decide + " allow  (or " + string(hookRefusal(r.Gate)) + ")"
		}
	}
	return string(r.Gate), decide + " allow  (or deny)"
}

// useOf says what a tool is to do. The titles of those that look at files or change them
// say it all, as those of commands may.
func useOf(p terret.PermissionRequest) string {
	files := []terret.ToolClass{terret.ClassEdit, terret.ClassRead, terret.ClassSearch, terret.ClassFetch}
	if slices.Contains(files, p.Class) && p.Title != "" && p.Title != p.Tool {
		return p.Title
	}
	all := detail(p)
	if p.Title == "Run `"+all+"`" {
		return p.Title
	}
	return nonEmpty(p.Title, p.Tool) + ": " + all
}

// decideOptions are the options of `terret decide`.
type decideOptions struct {
	request, behavior          string
	answers                    []string
	scope, reason, input, next string
	rule                       string
	interrupt                  bool
}

func newDecide(a *app) *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:   "decide REQUEST allow|deny|answer|reject|approve|revise|block [ANSWER]...",
		Short: "Answer a request, in whichever process it waits",
		Long: "Answer a request, in whichever process it waits. `terret pending` lists requests\n" +
			"and possible answers. A unique prefix of the id is enough.",
		Example: "  terret decide req_0190… allow --scope session\n" +
			"  terret decide req_0190… deny --reason \"not in this folder\"\n" +
			"  terret decide req_0190… answer blue",
		Args: minTwoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request, o.behavior, o.answers = args[0], args[1], args[2:]
			return runDecide(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.scope, "scope", "", "how long it applies: once, session or always (default once)")
	f.StringVar(&o.rule, "rule", "", "rule to add with scope session or always (default: all suggested ones)")
	f.StringVar(&o.reason, "reason", "", "reason to give to the agent")
	f.StringVar(&o.input, "input", "", "JSON to use instead of the tool's input")
	f.StringVar(&o.next, "next-mode", "", "permission mode to continue in after approve")
	f.BoolVar(&o.interrupt, "interrupt", false, "also stop the turn")
	return cmd
}

func runDecide(ctx context.Context, a *app, o decideOptions) error {
	if access.Inside(a.environ) {
		return access.ErrInside("only a person can decide requests")
	}
	e, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	id, err := a.resolveRequest(ctx, o.request)
	if err != nil {
		return err
	}
	d := terret.Decision{
		RequestID: id, Behavior: terret.Behavior(o.behavior), Scope: terret.Scope(o.scope), Reason: o.reason, Rule: o.rule,
		NextMode: o.next, Interrupt: o.interrupt, Source: terret.ByUser, By: a.user(),
	}
	if o.input != "" {
		d.UpdatedInput = terret.JSON(o.input)
	}
	if len(o.answers) > 0 {
		if d.Answers, err = a.answers(ctx, id, o.answers); err != nil {
			return err
		}
	}
	if err := e.Decide(ctx, d); err != nil {
		return err
	}
	a.noteDecided(ctx, d)
	return nil
}

// decidedWords say what a decision did.
var decidedWords = map[terret.Behavior]string{
	terret.BehaviorAllow: "allowed", terret.BehaviorDeny: "denied", terret.BehaviorAnswer: "answered", terret.BehaviorReject: "skipped", terret.BehaviorApprove: "approved",
	terret.BehaviorRevise: "sent back", terret.BehaviorBlock: "blocked",
}

// noteDecided says which request was answered, and how.
func (a *app) noteDecided(ctx context.Context, d terret.Decision) {
	how := nonEmpty(decidedWords[d.Behavior], string(d.Behavior))
	r, err := a.harness.Store.Request(ctx, d.RequestID)
	if err != nil {
		a.note("%s", how)
		return
	}
	what, _ := a.describeRequest(r)
	a.note("%s: %s", how, what)
}

// resolveRequest finds an open request by its id or a unique prefix of it.
func (a *app) resolveRequest(ctx context.Context, id string) (string, error) {
	if terret.ValidID(terret.PrefixRequest, id) {
		return id, nil
	}
	page, err := a.harness.Store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen, Limit: 1000})
	if err != nil {
		return "", err
	}
	var found []string
	for _, r := range page.Items {
		if strings.HasPrefix(r.RequestID, id) || strings.HasPrefix(strings.TrimPrefix(r.RequestID, terret.PrefixRequest), id) {
			found = append(found, r.RequestID)
		}
	}
	switch len(found) {
	case 0:
		return "", terret.Errorf(terret.CodeNotFound, "there is no open request %q; `terret pending` lists them", id)
	case 1:
		return found[0], nil
	}
	return "", terret.Invalid("request", "several requests begin with %s; type more of the id", id)
}

// answers assigns what was typed to the questions, in order. The answer to a single
// question may be several words or options.
func (a *app) answers(ctx context.Context, id string, given []string) (map[string]terret.Choice, error) {
	r, err := a.harness.Store.Request(ctx, id)
	if err != nil {
		return nil, err
	}
	var q terret.QuestionRequest
	if r.Gate != terret.GateQuestion || json.Unmarshal(r.Data, &q) != nil || len(q.Questions) == 0 {
		return nil, terret.Invalid("answer", "request %s is not a question", id)
	}
	out := map[string]terret.Choice{}
	if len(q.Questions) == 1 {
		one := q.Questions[0]
		if one.Multi {
			out[one.ID] = given
		} else {
			out[one.ID] = terret.Choice{strings.Join(given, " ")}
		}
		return out, nil
	}
	if len(given) != len(q.Questions) {
		return nil, terret.Invalid("answer", "there are %d questions, so give %d answers; quote answers that contain spaces", len(q.Questions), len(q.Questions))
	}
	for i, one := range q.Questions {
		out[one.ID] = terret.Choice{given[i]}
	}
	return out, nil
}
