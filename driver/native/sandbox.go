package native

import (
	"context"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/sandbox"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// Describe implements terret.Describer.
func (d *Driver) Describe() terret.Description {
	return terret.Description{
		Sandbox: true,
		ProjectFiles: []terret.ProjectFile{
			{Path: ".terret/agents/", Why: "subagents of the native agent"},
			{Path: ".terret/commands/", Why: "commands of the native agent"},
			{Path: ".terret/plugins/", Why: "programs that the native agent runs"},
			{Path: ".terret/skills/", Why: "skills of the native agent"},
		},
	}
}

// box is what commands may change in a turn with these settings.
func (a *agent) box(in terret.Settings) sandbox.Box {
	b := sandbox.Box{}
	if a.driver.cfg.Home != "" {
		b.Protect = []string{a.driver.cfg.Home}
	}
	if in.Sandbox == terret.SandboxWrite {
		b.Write = append(slices.Clone(in.AddDirs), a.req.Session.Cwd, a.temp())
	}
	return b
}

// temp is the folder in which commands put temporary files.
func (a *agent) temp() string {
	for _, v := range slices.Backward(a.environ) {
		if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok && dir != "" {
			return dir
		}
	}
	return "/tmp"
}

// sandboxed refuses a session in a sandbox that this machine cannot make.
func (a *agent) sandboxed(in terret.Settings) error {
	if in.Sandbox == "" {
		return nil
	}
	if err := a.driver.boxes.Check(a.box(in)); err != nil {
		return terret.Errorf(terret.CodeUnsupported, "the session cannot have its sandbox (%s): %w", in.Sandbox, err)
	}
	return nil
}

// wrap puts programs into the sandbox of the settings; nil if there is none. Whatever
// starts a program for the agent uses it.
func (a *agent) wrap(in terret.Settings) func(argv []string) ([]string, error) {
	if in.Sandbox == "" {
		return nil
	}
	return func(argv []string) ([]string, error) { return a.driver.boxes.Wrap(a.box(in), argv) }
}

// boxed is a tool as the model sees it under these settings.
func boxed(t tools.Tool, in terret.Settings) tools.Tool {
	switch in.Sandbox {
	case terret.SandboxWrite:
		return tools.Boxed(t, "the project and the folder for temporary files")
	case terret.SandboxReadOnly:
		return tools.Boxed(t, "nothing")
	case terret.SandboxOff:
	}
	return t
}

// staysIn reports whether a use that is allowed may run: it stays in the sandbox, or a
// person lets it leave. Leaving is a question, so that no rule and no policy answers it:
// the session was given a sandbox on purpose. If not, the outcome says so.
func (u *use) staysIn(ctx context.Context, ready *tools.Use) (outcome, bool) {
	if u.settings.Sandbox == "" || !ready.Outside && !u.writesOutside(ready) {
		return outcome{}, true
	}
	const id, yes, no = "leave_sandbox", "Run it outside", "Keep the sandbox"
	text := "The agent asks to do this outside its sandbox (" + string(u.settings.Sandbox) + "): " + ready.Title
	if ready.Reason != "" {
		text += "\nIts reason: " + ready.Reason
	}
	d, err := u.decide(ctx, terret.Ask{Key: u.key + "/sandbox", Gate: terret.GateQuestion, Event: u.event(terret.QuestionRequest{
		ToolID:    u.call.ToolID,
		Questions: []terret.Question{{ID: id, Header: "Sandbox", Text: text, Options: []terret.Option{{Label: no}, {Label: yes}}}},
	})})
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0), false
	case d.Behavior == terret.BehaviorAnswer && slices.Equal([]string(d.Answers[id]), []string{yes}):
		return outcome{}, true
	}
	return u.denied(ctx, terret.Decision{Reason: "nobody allowed it to leave the sandbox", Interrupt: d.Interrupt}), false
}

// writesOutside reports whether a tool that is not a command changes a file that commands
// could not change.
func (u *use) writesOutside(ready *tools.Use) bool {
	if ready.Class != tools.Edits {
		return false
	}
	box := u.a.box(u.settings)
	return slices.ContainsFunc(ready.Paths, func(path string) bool { return !box.MayWrite(path) })
}

// SandboxMain runs a command in a sandbox, as the process that Config.SandboxHelper
// starts. It does not return.
func SandboxMain(args []string) { sandbox.Main(args) }

// SandboxMechanism says what confines commands on this machine, or why nothing can.
func SandboxMechanism(helper, environ []string) (string, error) {
	return sandbox.New(helper, environ).Mechanism()
}
