package drivertest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// processes are about the agent's process, and ours.
var processes = []scenario{
	{name: "kill -9 of the agent", cannot: inProcess, run: crash},
	{name: "garbage on stdout", cannot: inProcess, run: garbage},
	{name: "garbage between the lines", cannot: noLines, run: garbageBetween},
	{name: "program missing", cannot: inProcess, run: programMissing},
	{name: "program that ends at once", cannot: inProcess, run: programEnds},
	{name: "kill -9 of the harness", cannot: onlyLinux, run: harnessKilled},
	{name: "untrusted folder", cannot: trustsNothing, run: untrusted},
	{name: "one-shot", needs: terret.CanOneShot, run: oneShot},
	{name: "prewarmed", needs: terret.CanPrewarm, run: prewarmed},
}

func inProcess(t Target) string {
	if t.Program == "" {
		return "it has no process of its own"
	}
	return ""
}

func noLines(t Target) string {
	if t.Quiet != "" {
		return t.Quiet
	}
	return inProcess(t)
}

func onlyLinux(Target) string {
	if runtime.GOOS != "linux" {
		return "only Linux shows whose processes are left"
	}
	return ""
}

// crash is that the turn ends, and that the session goes on with another process.
func crash(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell(forever)}},
		dying,
	)
	id := f.session()
	turn := f.prompt(id, "work")
	f.await("the tool runs", func() bool { return f.file("begun") == "" })
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	p, err := os.FindProcess(last[terret.ProcessSpawn](f, events).PID)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if err := p.Kill(); err != nil {
		f.Fatalf("%v", err)
	}
	events = f.end(id, turn)
	if end := f.failed(events, terret.CodeProcessFailed); end.Error.Signal != "SIGKILL" {
		f.Errorf("%+v", end.Error)
	}
	f.gone()
	f.says(id, "go on", "Gone on.")
}

// wrap puts a script in place of the agent's program.
func (f *fixture) wrap(script string) {
	f.Helper()
	path := filepath.Join(f.place.Home, "wrapped")
	text := fmt.Sprintf("#!/bin/sh\nprogram='%s'\n%s\n", f.target.Program, script)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { // it is a program
		f.Fatalf("%v", err)
	}
	f.place.Program = path
}

// garbage is that lines which are not the protocol's are kept and change nothing.
func garbage(f *fixture) {
	f.wrap(`echo 'Warning: this is not JSON'
printf '\000\377\376 {"broken": \n'
echo '{"type":"of_a_later_version","x":1}'
echo '[1,2]'
echo null
head -c 200000 /dev/zero | tr '\0' x; echo
exec "$program" "$@"`)
	f.play(step{User: "hello", Text: "Hello."})
	id := f.session()
	turn := f.prompt(id, "hello")
	f.completed(f.end(id, turn), "Hello.")
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	kept := dump(events)
	if !strings.Contains(kept, "this is not JSON") || !strings.Contains(kept, "of_a_later_version") {
		f.Errorf("it is not kept")
	}
}

// garbageBetween is the same in the midst of a turn with a tool.
func garbageBetween(f *fixture) {
	f.wrap(`"$program" "$@" | while IFS= read -r line; do echo 'this is not JSON'; printf '%s\n\n' "$line"; echo '{"half": '; done`)
	f.play(step{User: "work", Calls: []Call{f.target.Tools.Shell("printf x > a.txt; echo worked")}}, step{Result: "worked", Text: "Worked."})
	id := f.session()
	events := f.says(id, "work", "Worked.")
	f.holds("a.txt", "x")
	if n := len(all[terret.DiagParseError](events)); n < 4 {
		f.Errorf("%d lines that could not be read are kept", n)
	}
}

func programMissing(f *fixture) {
	f.place.Program = filepath.Join(f.place.Home, "there-is-none")
	f.play(step{Text: "x", Repeat: true})
	id := f.session()
	if end := f.failed(f.run(id, "hello"), terret.CodeAgentNotFound); !strings.Contains(end.Error.Message, "there-is-none") {
		f.Errorf("%+v", end.Error)
	}
}

func programEnds(f *fixture) {
	f.wrap("echo 'I do not feel well' >&2\nexit 3")
	f.play(step{Text: "x", Repeat: true})
	id := f.session()
	end := f.failed(f.run(id, "hello"), terret.CodeProcessFailed)
	if end.Error.ExitCode == nil || *end.Error.ExitCode != 3 || !strings.Contains(strings.Join(end.Error.Stderr, "\n")+end.Error.Message, "I do not feel well") {
		f.Errorf("%+v", end.Error)
	}
}

// harnessKilled is that nothing of the agent outlives us, that the turn gets its end
// from whoever comes next, and that the session goes on.
func harnessKilled(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell(forever)}},
		dying,
	)
	id := f.session()
	h := f.startHarness(id, "work")
	defer h.kill()
	f.await("the tool runs in the other process", func() bool { return f.file("begun") == "" })
	h.kill()
	if h.stderr.Len() > 0 {
		f.Logf("the other process said: %s", &h.stderr)
	}
	f.gone()
	f.e = f.open().engine
	turns, err := f.seats[0].store.Turns(f.Context(), id)
	if err != nil || len(turns) != 1 {
		f.Fatalf("%d turns, %v", len(turns), err)
	}
	f.failed(f.end(id, turns[0].ID), terret.CodeProcessFailed)
	f.says(id, "go on", "Gone on.")
	if f.has(terret.CanReconnect) {
		f.heard("work")
	}
}

// oneShot is a process for each turn.
func oneShot(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."})
	id := f.session(func(s *terret.Session) { s.OneShot = true })
	f.says(id, "the first thing", "One.")
	f.gone()
	f.says(id, "the second thing", "Two.")
	f.heard("the first thing")
	f.gone()
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if n := len(all[terret.SessionStart](events)); n != 2 {
		f.Errorf("%d agents were started for two turns", n)
	}
}

// prewarmed is that a session takes over a process that was started before.
func prewarmed(f *fixture) {
	f.config = func(c *engine.Config) { c.Pool = engine.Pool{Size: 1} }
	f.play(step{User: "hello", Text: "Hello."}, step{User: "more", Text: "More."})
	id := f.session()
	s, err := f.seats[0].store.Session(f.Context(), id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if err := f.e.Prewarm(f.Context(), s); err != nil {
		f.Fatalf("prewarm: %v", err)
	}
	f.await("an agent is warm", func() bool { return f.spy.warmed.Load() > 0 })
	before := alive(f.t, f.place.Home)
	f.says(id, "hello", "Hello.")
	f.says(id, "more", "More.")
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	pid := fmt.Sprint(last[terret.ProcessSpawn](f, events).PID)
	if !slices.ContainsFunc(before, func(line string) bool { return strings.HasPrefix(line, pid+" ") }) {
		f.Errorf("process %s is not one of those that were warm: %s", pid, strings.Join(before, "\n"))
	}
}

func trustsNothing(t Target) string {
	if t.Poison == nil {
		return "nothing in a folder makes it run a command by itself"
	}
	return ""
}

// untrusted is that a folder's own settings act only when a person trusts it.
func untrusted(f *fixture) {
	trusted := false
	f.config = func(c *engine.Config) { c.Trust = func(string) bool { return trusted } }
	steps := []step{{User: "hello", Text: "Hello."}, {User: "again", Text: "Again."}}
	if f.target.Lacks.HeedsTrust {
		steps = steps[1:] // it is not started before
	}
	f.play(steps...)
	if err := f.target.Poison(f.dir, "touch "+f.at("poisoned.txt")); err != nil {
		f.Fatalf("%v", err)
	}
	id := f.session()
	if f.target.Lacks.HeedsTrust {
		f.failed(f.end(id, f.prompt(id, "hello")), terret.CodeStartupRefused)
	} else {
		f.says(id, "hello", "Hello.")
	}
	f.holds("poisoned.txt", "(no file)")
	f.close(id)
	trusted = true
	f.says(id, "again", "Again.")
	f.holds("poisoned.txt", "")
}
