package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// Env is where a tool works. Only Dir is required.
type Env struct {
	Dir     string   // the session's folder, absolute
	Roots   []string // further folders that count as inside, absolute
	Environ []string // what commands may see; the caller has filtered it; nil is nothing
	Owner   string   // mark for processes
	Shell   string   // a POSIX shell; empty is bash if found, else sh
	Ripgrep string   // the program rg, which Grep uses if there is one
	// State is what earlier calls have left behind; nil means that they leave nothing.
	State *State
	// Private are addresses that WebFetch may reach although they are not public.
	Private []netip.Prefix
	// Wrap, if set, turns the arguments of a command into those that run it in a sandbox.
	Wrap func(argv []string) ([]string, error)
}

// Classes of tools.
const (
	Execute = "execute"
	Reads   = "read"
	Edits   = "edit"
	Search  = "search"
	Fetch   = "fetch"
)

// Tool is one tool.
type Tool struct {
	Name        string
	Class       string // Execute, Reads, Edits, Search or Fetch
	Description string // for the model
	Schema      json.RawMessage
	// Prepare checks the input and says what the tool would do, without doing it. ctx
	// bounds the call. The error is for the model: what is wrong with the input and how
	// to call the tool correctly.
	Prepare func(ctx context.Context, env Env, input json.RawMessage) (*Use, error)
}

// Use is a tool call that is ready to run. Its fields say what it will do.
type Use struct {
	Tool    string   // name of the tool
	Class   string   // of the tool
	Title   string   // one line for people, free of control characters: "Edit src/x.go"
	Command string   // the command of Bash, as it will be run
	Paths   []string // absolute, symlinks resolved: the file, or the folder searched
	Diff    string   // unified diff of an edit against the file as it is now
	// Background says that the caller of the tool wants to go on while it runs.
	Background bool
	// Outside says that the caller of the tool wants it to run outside the sandbox, and
	// Reason why.
	Outside bool
	Reason  string
	// Inside is true if every path is inside Dir or Roots after symlinks are resolved,
	// and none is in a .git. It is false for Bash, whose paths are unknown, and for
	// WebFetch, which has none.
	Inside bool

	run func(ctx context.Context, progress func(string)) (Result, error)
}

// Doing is a use that does what run does, for tools that are not of this package.
func (u Use) Doing(run func(ctx context.Context, progress func(string)) (Result, error)) *Use {
	u.run = run
	return &u
}

// Run does it, once. The error is the cause of ctx's end and comes with the partial
// result; a tool that fails says so in the Result. When Run has returned, nothing that
// it started is alive.
//
// progress may be nil. It is called on Run's goroutine with new output, and must return
// soon: it does not hold up the command, but delays the check of its time limit. A command
// in the background tells all of its output in this way, but for what comes too fast.
func (u *Use) Run(ctx context.Context, progress func(text string)) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%s: %w", u.Tool, context.Cause(ctx))
	}
	if progress == nil {
		progress = func(string) {}
	}
	began := time.Now()
	res, err := u.run(ctx, progress)
	res.Duration = time.Since(began)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		return res, fmt.Errorf("%s: %w", u.Tool, context.Cause(ctx))
	default:
		return Result{Text: err.Error(), IsError: true, Duration: res.Duration}, nil
	}
}

// Result is the result of a Use.
type Result struct {
	Text       string // for the model; valid UTF-8
	Remarks    string // the part of Text that is not output of a command
	Images     []Image
	IsError    bool
	Diff       string // of what was done to a file
	Changed    []Change
	Structured json.RawMessage // the same for programs; nil if there is nothing to add
	Truncated  bool            // there was more than Text says
	Duration   time.Duration
}

// Change is what happened to a file.
type Change struct {
	Path string // absolute, symlinks resolved
	Kind ChangeKind
}

// ChangeKind is the kind of a Change.
type ChangeKind string

// Kinds of changes. No tool here deletes.
const (
	Created  ChangeKind = "created"
	Modified ChangeKind = "modified"
)

// All returns the tools, in the order in which a model should see them.
func All() []Tool {
	return []Tool{bashTool(), readTool(), writeTool(), editTool(), globTool(), grepTool(), fetchTool()}
}

// Find returns the tool of that name.
func Find(name string) (Tool, bool) {
	for _, t := range All() {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// settle finishes a Prepare whose use is ready except for wrong, which may be nil. Only
// Run reveals what is wrong with a file outside.
func settle(use *Use, wrong error) (*Use, error) {
	if wrong == nil {
		return use, nil
	}
	if use.Inside {
		return nil, wrong
	}
	use.run = func(context.Context, func(string)) (Result, error) { return Result{}, wrong }
	return use, nil
}

// structured encodes v, which is made of plain fields.
func structured(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
