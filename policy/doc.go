// Package policy decides tool uses by rules and a named policy.
//
// [Judge] takes a [Subject], the rules in force and the session's policy, and returns a
// [Verdict]: allow, deny or ask, with the rule or the policy that decided and one
// sentence for people. Deny rules come first, then ask rules, then allow rules, then
// the policy. [Denied] checks deny rules only, for an input that was edited after it
// was judged. [Missing] finds tools that an agent must not have. [Suggest] proposes
// narrow rules that would allow a tool use, and [Explain] says why a verdict is what it
// is.
//
// Rules use the agents' own syntax:
//
//	Bash                     every command
//	Bash(git status)         that command
//	Bash(git log *)          git log with any further words
//	Bash(npm run test:*)     the same, as it used to be written
//	Read(src/**)             files below src in the working directory
//	Edit(/docs/*.md)         files of the project; also Write, MultiEdit, > and >>
//	Edit(//var/log/x)        an absolute path
//	Read(~/notes/**)         below the home directory
//	WebFetch(domain:go.dev)  a host; *.go.dev is the hosts below it
//	mcp__github              every tool of a server; also mcp__github__get_*
//	Agent                    any other tool, by its name
//
// # Guarantee
//
// Allow never widens; when in doubt, ask. A shell command is read twice, by a
// parser of the whole language and by a strict reader of a plain subset (package
// shellread). An allow rule helps only if both read the same, if every command in
// the script, wherever it hides, is allowed by a rule, and every file that it
// redirects to as well.
//
// A table of programs (folder table) lists what is known to be harmless in them: their
// options, and what their operands are. Of these programs everything else is asked
// about, as are a computed command, eval and a shell that reads its standard input: a
// rule with a star does not allow them. Nor does it cover writing outside the project,
// or where programs take orders from: that takes a rule for Edit, too. A program that
// the table does not have means what the rule says, unless its words name a file from
// which programs take orders; [Broad] tells the maker of the rule. What cannot be seen
// through, as an interpreter with code on its command line, is asked about where a deny
// rule for the shell or for files exists, even under auto-approve. A rule for the whole
// tool, and one that is the command word for word, say what they mean and need no proof.
//
// Deny rules match every reading of a path that we know: as given, after symlinks, in
// Unicode's composed form and with case folded. Allow rules match only what the path
// resolves to.
//
// # Limits
//
// The verdict is about what the words say, not about what programs do: a
// makefile, a script or a binary may do anything, and a rule that allows it
// allows that. Deny rules compare words as they are written: Bash(rm -rf *) does
// not know that "rm -r -f" is the same, Bash(rm *) does not need to. Rules about
// files reach into shell commands through redirections and the names in their words;
// what git does to files that it tracks counts only if they are named. Hard links, mounts, links behind a glob, what a program prints and another
// uses as a name, redirects of a web server, and whatever changes between the judgment
// and the use are out of sight, as are aliases, functions and options that the agent's
// shell loads at its start, and settings in git's own configuration. Commands are read as bash -c
// and zsh -c read them, not as a shell at a terminal does. This is a guard for
// agents that err, not a sandbox. docs/SECURITY.md has more.
//
// The package keeps no state and starts no goroutines. Its only I/O is reading symbolic
// links, through [Subject.Readlink].
package policy
