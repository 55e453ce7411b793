// Package proc starts agent processes and ends them. Drivers use it: it provides three
// pipes to the agent, signals, the stop ladder, and the filter that keeps the harness's
// secrets out of an agent's environment. Package guard owns the process tree.
//
//	p, err := proc.Start(ctx, proc.Spec{
//		Argv:  []string{"claude", "-p"},
//		Dir:   folder,
//		Env:   proc.FilterEnv(os.Environ(), "ANTHROPIC_API_KEY"),
//		Owner: worker,
//	})
//	...
//	defer p.Stop(context.WithoutCancel(ctx))
//
// # Who owns, who closes, who waits
//
// The process lives until it ends, or until Stop or Kill, or until the harness
// ends, whichever comes first; the context of Start bounds the start only. When
// Stop or Kill has returned without an error, or Done is closed (for a Spec
// without KeepDescendants), no descendant of the agent is alive.
//
// A [Process] is safe for concurrent use, but only one goroutine at a time may read
// Stdout, and writes to Stdin are as atomic as those of a pipe. The caller closes Stdin
// to tell the agent that no more will come; the Process closes it too, when it stops
// the agent and when the agent has ended, which unblocks a writer. The caller reads
// Stdout to its end, which releases it, or closes it. Stdout ends when the agent has
// ended, even if some escaped process still holds the pipe: everything written up to
// then can still be read.
//
// A Process has three goroutines of its own. They end when the tree is gone, and Done
// is closed after the one that reads stderr; nobody else need wait.
package proc
