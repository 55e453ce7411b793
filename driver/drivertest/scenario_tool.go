package drivertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// tooling are scenarios with tools that nobody is asked about.
var tooling = []scenario{
	{name: "tools run", run: toolsRun},
	{name: "tool fails", run: toolFails},
	{name: "large tool result", run: largeResult},
	{name: "two tools at once", run: twoTools},
	{name: "denied by a rule", overseen: true, run: deniedByRule},
	{name: "policies bind what it allows itself", overseen: true, also: []terret.Capability{terret.CanPermissions}, cannot: readsByShell, run: policiesBind},
	{name: "tools taken away", cannot: noToolChoice, run: fewerTools},
	{name: "extra folders", also: []terret.Capability{terret.CanPermissions}, run: extraFolders},
	{name: "secrets of others", run: otherSecrets},
	{name: "subagent", needs: terret.CanSubagents, cannot: noSubagents, run: subagent},
	{name: "background task", cannot: noBackground, run: background},
	{name: "MCP server", needs: terret.CanMCP, cannot: noMCP, run: mcp},
	{name: "structured output", needs: terret.CanStructuredOutput, cannot: noStructured, run: structured},
}

// toolsRun is the life of a tool call: told with its input, run, its result told and
// sent to the model.
func toolsRun(f *fixture) {
	tools := f.target.Tools
	f.play(
		step{User: "make files", Calls: []Call{tools.Write(f.at("a.txt"), "alpha\n")}},
		step{Calls: []Call{tools.Edit(f.at("a.txt"), "alpha", "beta")}},
		step{Calls: []Call{tools.Shell("cat a.txt; printf gamma > b.txt; echo from the shell")}},
		step{Result: "from the shell", Text: "All made."},
	)
	id := f.session()
	events := f.says(id, "make files", "All made.")
	f.holds("a.txt", "beta")
	f.holds("b.txt", "gamma")
	f.heard("beta")
	pres, posts := all[terret.ToolPre](events), all[terret.ToolPost](events)
	if len(pres) != 3 || len(posts) != 3 {
		f.Fatalf("%d calls were told and %d results", len(pres), len(posts))
	}
	for i, class := range []terret.ToolClass{terret.ClassEdit, terret.ClassEdit, terret.ClassExecute} {
		if pres[i].ToolID == "" || pres[i].ToolID != posts[i].ToolID || pres[i].Class != class || pres[i].Name != posts[i].Name {
			f.Errorf("call %d is %s %q of %s, its result %s of %s", i, pres[i].Class, pres[i].Name, pres[i].ToolID, posts[i].Name, posts[i].ToolID)
		}
	}
	if !strings.Contains(pres[1].Diff+posts[1].Diff, "+beta") {
		f.Errorf("the edit shows no difference: %q %q", pres[1].Diff, posts[1].Diff)
	}
	if !strings.Contains(terret.TextOf(posts[2].Content), "from the shell") && !f.target.Lacks.ToolOutput {
		f.Errorf("the shell's output is not in the log: %+v", posts[2])
	}
	if _, ok := events[len(events)-1].Data.(terret.TurnComplete); !ok {
		f.Errorf("the last event of the turn is %s", events[len(events)-1].Kind())
	}
}

func toolFails(f *fixture) {
	f.play(step{User: "try", Calls: []Call{f.target.Tools.Shell("echo oh no >&2; false")}}, step{Result: "oh no", Text: "It failed."})
	id := f.session()
	events := f.says(id, "try", "It failed.")
	if f.target.Lacks.ToolFailure {
		last[terret.ToolPost](f, events)
		return
	}
	failure := last[terret.ToolFailure](f, events)
	if failure.Denied || failure.Interrupted || failure.Error == "" || !strings.Contains(failure.Error+terret.TextOf(failure.Content), "oh no") {
		f.Errorf("%+v", failure)
	}
}

// largeResult is a line that no agent sends to its model as a whole, and one that all do.
func largeResult(f *fixture) {
	f.play(step{User: "print", Calls: []Call{f.target.Tools.Shell(`head -c 2000000 /dev/zero | tr '\0' x; echo; echo xxxx`)}}, step{Result: "xxxx", Text: "Much."})
	id := f.session()
	f.says(id, "print", "Much.")
}

func twoTools(f *fixture) {
	tools := f.target.Tools
	f.play(step{User: "both", Calls: []Call{tools.Write(f.at("a.txt"), "a"), tools.Shell("printf b > b.txt; echo shell done")}}, step{Result: "shell done", Text: "Both."})
	id := f.session()
	events := f.says(id, "both", "Both.")
	f.holds("a.txt", "a")
	f.holds("b.txt", "b")
	var order []string
	for _, p := range all[terret.ToolPre](events) {
		order = append(order, p.ToolID)
	}
	for _, p := range all[terret.ToolPost](events) {
		if i := slices.Index(order, p.ToolID); i < 0 {
			f.Errorf("a result of %s, which was not called", p.ToolID)
		} else {
			order = slices.Delete(order, i, i+1)
		}
	}
	if len(order) > 0 {
		f.Errorf("no result of %v", order)
	}
}

// deniedByRule is that a rule counts also for what the agent would do without asking.
func deniedByRule(f *fixture) {
	f.play(step{User: "try", Calls: []Call{f.target.Tools.Shell("echo secret")}}, step{Result: "", Text: "Not allowed."})
	id := f.session(withOptions(terret.SessionOptions{Deny: []string{"Bash(echo *)"}}))
	events := f.says(id, "try", "Not allowed.")
	failure := last[terret.ToolFailure](f, events)
	if !failure.Denied || failure.Error == "" {
		f.Errorf("%+v", failure)
	}
	if !slices.ContainsFunc(events, func(ev terret.Event) bool {
		d, ok := terret.DecisionOf(ev.Data)
		return ok && d.Source == terret.ByRule && d.Behavior == terret.BehaviorDeny && strings.Contains(d.Rule+d.Reason, "echo")
	}) {
		f.Errorf("no rule decided")
	}
	if end := last[terret.TurnComplete](f, events); len(end.Denials) != 1 {
		f.Errorf("the turn tells of %d denials", len(end.Denials))
	}
}

// policiesBind is that ask and deny-unless-allowed count also for what the agent would do
// without asking, such as reading and listing files. Reading in the folder is free under
// ask.
func policiesBind(f *fixture) {
	tools := f.target.Tools
	f.write("a.txt", "alpha\n")
	f.play(
		step{User: "look", Calls: []Call{tools.Read(f.at("a.txt"))}}, step{Result: "alpha", Calls: []Call{tools.Shell("ls")}},
		step{Result: "a.txt", Text: "Looked."}, step{User: "again", Calls: []Call{tools.Read(f.at("a.txt"))}}, step{Text: "May not."},
	)
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "look")
	ev, request := f.permission(id, turn)
	if request.Class != terret.ClassExecute {
		f.Errorf("asked about %s", request.Tool)
	}
	f.decide(ev, allow(ev))
	f.completed(f.end(id, turn), "Looked.")

	id = f.session(withPolicy(terret.PolicyDenyUnlessAllowed))
	failure := last[terret.ToolFailure](f, f.says(id, "again", "May not."))
	if !failure.Denied || !strings.Contains(failure.Error, "deny-unless-allowed") {
		f.Errorf("%+v", failure)
	}
}

func noToolChoice(t Target) string { return t.Lacks.ToolChoice }

func fewerTools(f *fixture) {
	f.play(step{User: "hi", Text: "Hello."})
	name := f.target.Tools.Shell("x").Name
	id := f.session(withOptions(terret.SessionOptions{DisallowedTools: []string{name}}))
	f.says(id, "hi", "Hello.")
	if got := f.model.last().Tools; slices.Contains(got, name) || len(got) == 0 {
		f.Errorf("the model was offered %v", got)
	}
}

// extraFolders is that edits in a folder that was added are like those in the
// session's own, and others are not.
func extraFolders(f *fixture) {
	extra := filepath.Join(filepath.Dir(f.dir), "extra")
	if err := os.Mkdir(extra, 0o700); err != nil {
		f.Fatalf("%v", err)
	}
	f.play(
		step{User: "with it", Calls: []Call{f.target.Tools.Write(filepath.Join(extra, "a.txt"), "added")}}, step{Text: "Written."},
		step{User: "without it", Calls: []Call{f.target.Tools.Write(filepath.Join(extra, "b.txt"), "added")}}, step{Text: "Not written."},
	)
	id := f.session(withPolicy(terret.PolicyAcceptEdits), withOptions(terret.SessionOptions{AddDirs: []string{extra}}))
	f.says(id, "with it", "Written.")
	f.holds("../extra/a.txt", "added")

	id = f.session(withPolicy(terret.PolicyAcceptEdits))
	turn := f.prompt(id, "without it")
	if f.target.Lacks.AskOutside {
		f.completed(f.end(id, turn), "Not written.")
	} else {
		f.decide(f.asked(id, turn), terret.Decision{Gate: terret.GatePermission, Behavior: terret.BehaviorDeny})
		f.refused(f.end(id, turn), "Not written.")
	}
	f.holds("../extra/b.txt", "(no file)")
}

// otherSecrets is that an agent does not see what is not for it.
func otherSecrets(f *fixture) {
	f.config = func(c *engine.Config) {
		c.Env = append(c.Env, "OTHER_SERVICE_TOKEN=hush-hush", "DATABASE_URL=hush-hush", "TERRET_HOME=hush-hush", "STRIPE_LIVE=hush-hush", "GOPRIVATE=fine-by-me")
	}
	f.play(step{User: "look", Calls: []Call{f.target.Tools.Shell("env | grep -v sk-ant-api03; echo looked")}}, step{Result: "looked", Text: "Seen."})
	id := f.session()
	f.says(id, "look", "Seen.")
	f.heard("fine-by-me")
	if strings.Contains(f.model.last().User, "hush-hush") {
		f.Errorf("a secret of somebody else's reached the model")
	}
}

func noSubagents(t Target) string {
	if t.Tools.Subagent == nil {
		return "it has no subagents"
	}
	return ""
}

// awaiting is the step in which the model waits for its subagent, if that takes one.
func (f *fixture) awaiting() []step {
	if f.target.Await == nil {
		return nil
	}
	return []step{{First: "main task", Result: f.target.AwaitID, Anywhere: true, Calls: []Call{f.target.Await("{{agent}}")}}}
}

func subagent(f *fixture) {
	tools := f.target.Tools
	f.play(append(
		f.awaiting(),
		step{First: "main task", User: "main task", Anywhere: true, Calls: []Call{tools.Subagent("look around here")}},
		step{First: "look around here", User: "look around here", Anywhere: true, Calls: []Call{tools.Shell("printf found > sub.txt; echo sub shell")}},
		step{First: "look around here", Result: "sub shell", Anywhere: true, Text: "I looked around."},
		step{First: "main task", Result: "I looked around.", Anywhere: true, Text: "The helper looked."},
	)...)
	id := f.session()
	events := f.says(id, "main task", "The helper looked.")
	f.holds("sub.txt", "found")
	start := last[terret.SubagentStart](f, events)
	stop := last[terret.SubagentStop](f, events)
	if start.ID == "" || start.ID != stop.ID || !strings.Contains(start.Prompt, "look around here") || !strings.Contains(stop.Result, "I looked around.") {
		f.Errorf("%+v\n%+v", start, stop)
	}
	parent := ""
	for _, ev := range events {
		if d, ok := ev.Data.(terret.ToolPre); ok && d.Class == terret.ClassAgent {
			parent = d.ToolID
		}
	}
	if !slices.ContainsFunc(events, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.ToolPost)
		return ok && ev.Actor == terret.SubActor(start.ID) && ev.ParentTool == parent && strings.Contains(terret.TextOf(d.Content), "sub shell")
	}) {
		f.Errorf("what %s did for %s is not told as its own", start.ID, parent)
	}
}

func noBackground(t Target) string {
	switch {
	case t.PerTurn:
		return "its process ends with the turn"
	case t.Tools.Background == nil:
		return "it does not work in the background"
	}
	return ""
}

// background is a command that ends after the turn in which it began, and of which
// the agent then tells by itself.
func background(f *fixture) {
	f.play(
		step{User: "begin", Calls: []Call{f.target.Tools.Background("until test -e go; do sleep 0.1; done; echo finished > out.txt")}},
		step{Text: "It runs."},
		step{Text: "It is done."},
	)
	id := f.session()
	events := f.says(id, "begin", "It runs.")
	task := last[terret.TaskStart](f, events)
	f.write("go", "")
	events = f.until(id, "end of a turn that the agent began", func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.TurnComplete)
		return ok && d.Text == "It is done."
	})
	f.holds("out.txt", "finished")
	if end := last[terret.TaskEnd](f, events); end.ID != task.ID || end.Status != "completed" {
		f.Errorf("%+v began, %+v ended", task, end)
	}
	if start := last[terret.TurnStart](f, events); start.Origin != terret.OriginBackground {
		f.Errorf("%+v", start)
	}
}

func noMCP(t Target) string {
	if t.Tools.MCP == nil {
		return "it does not know MCP"
	}
	return ""
}

func mcp(f *fixture) {
	if f.target.Lacks.UntrustedMCP {
		f.config = func(c *engine.Config) { c.Trust = func(string) bool { return true } }
	}
	f.play(
		step{User: "ask it", Calls: []Call{f.target.Tools.MCP(mcpServer, mcpTool, map[string]any{"word": "ahoy"})}},
		step{Result: "the parrot says ahoy", Text: "It spoke."},
	)
	id := f.session(withOptions(terret.SessionOptions{MCP: mcpConfig()}))
	events := f.says(id, "ask it", "It spoke.")
	if pre := last[terret.ToolPre](f, events); pre.Class != terret.ClassMCP {
		f.Errorf("%+v", pre)
	}
}

func noStructured(t Target) string {
	if t.Tools.Structured == nil && !t.StructuredText {
		return "it does not know structured output"
	}
	return ""
}

func structured(f *fixture) {
	if f.target.StructuredText {
		f.play(step{User: "how many", Text: `{"count":3}`})
	} else {
		f.play(step{User: "how many", Calls: []Call{f.target.Tools.Structured(map[string]any{"count": 3})}}, step{Text: "Three.", Repeat: true})
	}
	id := f.session(withOptions(terret.SessionOptions{
		OutputSchema: terret.JSON(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`),
	}))
	end := last[terret.TurnComplete](f, f.run(id, "how many"))
	if strings.Join(strings.Fields(string(end.Structured)), "") != `{"count":3}` {
		f.Errorf("%s", end.Structured)
	}
}
