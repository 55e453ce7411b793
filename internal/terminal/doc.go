// Package terminal runs shells on terminals of this machine (ptys) for people who sit
// elsewhere. Each belongs to a session, and ends with it.
//
//	m := terminal.NewManager(terminal.Limits{})
//	defer m.Close()
//	t, err := m.Open(ctx, terminal.Spec{Session: id, Dir: folder, Env: env})
//	err = t.Write([]byte("ls\n"))
//	chunk, err := t.Follow(0).Next(ctx)
//
// # What is kept
//
// A terminal counts the bytes that it has put out. It keeps the newest of them, at most
// Limits.Kept, so that anybody can come at any time, read from where they were, and see
// what the others see. It waits for nobody: who is too slow misses what was dropped, and
// is told. Nothing is written to disk.
//
// # Who owns, who waits
//
// The shell runs under a guard (package guard): it and all that it started end when it
// ends, when the terminal is closed, and when this process ends, however that happens.
// Each terminal has three goroutines. Close waits for them, and for the last process.
//
// # Bounds
//
// Of the number of terminals in a session and altogether, of what is kept, of input that
// waits to be read, and of the rate of input and output: a program that writes faster is
// slowed down, as on any terminal.
package terminal
