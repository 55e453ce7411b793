// Package tools is what the native agent can do to files and processes: Bash, Read,
// Write, Edit, Glob and Grep, and WebFetch to read the web. It knows nothing about models and holds no permissions: a
// call is prepared, somebody decides about the [Use], and then it is run.
//
//	tool, _ := tools.Find("Edit")
//	use, err := tool.Prepare(ctx, env, input) // err is for the model
//	...                                       // show use.Title and use.Diff, decide
//	result, err := use.Run(ctx, progress)     // err: ctx ended
//
// # What is decided is what is done
//
// Prepare reads, and changes nothing. It resolves every symbolic link, and Run works on
// the resolved path, inside an [os.Root] of the folder that holds it, so that a link
// that is put in the way afterwards cannot lead out. Run fails if the path now leads
// elsewhere, or if a file to be written is no longer the one that the diff was made
// against. Input is parsed strictly: a field that is unknown, has different case or
// occurs twice is an error, so that nobody who looks at the same input sees another
// call.
//
// What Prepare finds out about a file outside (missing, a folder, how often a string
// occurs) is not revealed before the use has been decided: Run says it then. Prepare
// fails at once only for paths inside and for bad input.
//
// The folders of processes in /proc are refused, because the tools run in the harness
// and would expose its environment.
//
// WebFetch reaches public addresses only. That is decided for each connection, by the
// address that it is about to be made to, so that neither a name nor a redirect leads
// into a private network. It stays with the host that it was asked for.
//
// # Limits
//
// Every limit is a constant beside its tool. Memory use stays within them, however much
// a command prints or a file contains.
//
//	Bash   30,000 characters of output (head and tail; 64 MB in a file), 10 min, 100,000 bytes of command
//	Read   2,000 lines unless asked for more, 2,000 characters a line, 256 KB
//	Write  10 MB; the diff is left out over 2 MB
//	Edit   files of at most 10 MB
//	Glob   the 1,000 newest files
//	Grep   500 matches, 30,000 characters, 500 characters a line, 1 MB of a line searched
//	WebFetch  5 MB, of which 100,000 characters are shown, 5 redirects, 30 s
//
// # What is not guaranteed
//
// Files are replaced by a rename: hard links to the old file keep the old content, and
// extended attributes and ACLs are lost. Between the last check of a file and the
// rename, a program that takes no lock can still slip in; the window is microseconds.
// Writers of this package exclude each other with an advisory lock on the folder, on
// Linux and macOS, even between processes. Names that differ only in case count as
// outside if they are not spelled as in Env. Bash needs Linux or macOS; see package
// guard.
//
// # Concurrency
//
// Everything here is safe for concurrent use, but a Use is run only once. No goroutine
// and no process outlives Run.
package tools
