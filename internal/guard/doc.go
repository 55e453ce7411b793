// Package guard runs one agent under a small child process, the guard, that owns the
// agent's whole process tree and ends it when its harness is gone. Pipes, the stop
// ladder and environment rules belong to package proc.
//
// Agents start their shell tools in new sessions, so killing a process group misses
// them, and Pdeathsig reaches only the direct child. The guard is a subreaper: every
// descendant that loses its parent becomes the guard's child, whatever session, group
// or environment it gave itself. So "the guard has no children" proves "nothing is
// left".
//
// # How it works
//
// Any program that links this package can be the guard: an init function
// looks at os.Args[0] and, when that is "terret-guard", serves as the guard
// and never returns. [Start] re-executes the running binary under that name.
// The guard receives the agent's program, arguments, folder and environment
// over a control pipe (none of it is in the guard's own arguments or
// environment), hands the agent the three files of [Config] directly, and
// reports over a status pipe. Neither pipe is inherited by the agent.
//
// When the control pipe closes, for whatever reason (Close, the harness's end,
// kill -9 of the harness), the guard sends TERM to every descendant, waits for
// at most Config.Grace, sends KILL, and repeats that until none is left. The
// same happens when the agent ends by itself, unless Config.KeepDescendants.
// The guard itself drops HUP, INT, QUIT, TERM and similar signals.
//
// # The safety net
//
// Every agent carries two marks in its environment: TERRET_OWNER, which names the
// worker and its process, and TERRET_GUARD, which names this one tree. If the guard
// itself is killed while the harness lives, the harness ends everything with the tree's
// mark ([ErrLost]). If both were killed, [Sweep], run at the next start of any harness,
// ends everything with the mark of an owner that is gone. Both also follow descendants.
//
// A process that dropped its environment and also lost every marked ancestor is found by
// its control group: where the harness may make one below its own (cgroup v2, Linux 5.14
// or newer), the guard starts the agent in it, and the kernel kills what is left there
// when the tree is ended. [Contained] says whether that is so here. A process of the
// same user can still move itself to another group.
//
// # Platforms
//
// Linux is guaranteed ([Guaranteed] is true): signals go through pidfds after
// the target has been checked to be a descendant, so a reused pid is not hit.
// A process of another user (sudo) cannot be signalled: the guard waits a
// moment for it, gives it up and says so ([ErrLeft]).
//
// macOS is best effort ([Guaranteed] is false): there is no subreaper. The
// guard samples the process table twice a second and remembers who descended
// from it; a process that is started and orphaned between two samples, in a
// process group of its own, is not found. A pid is checked by its start time
// just before a signal, which leaves a small window for reuse.
//
// Elsewhere the package builds, and Start returns [ErrUnsupported].
//
// # Concurrency
//
// A [Guard] is safe for concurrent use. Start starts one goroutine, which reads the
// status pipe, reaps the guard process and then closes Gone; it ends by itself when the
// tree is gone, and the caller of Start waits for it with Gone. Start does not close
// the files of Config: the caller closes its copies.
package guard
