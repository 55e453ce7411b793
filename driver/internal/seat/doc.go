// Package seat is what every driver of a program needs and no agent says differently:
// starting the program, its environment, its standard error, how it ends, what is
// remembered to open it again, whether it is installed, and the errors about all that. A
// driver is then its wire, its translation and its tools.
//
// A [Program] says what is known of an agent's program without starting it. Start makes a
// [Process] of it, which the driver embeds in its own type:
//
//	type process struct {
//		*seat.Process
//		conn *rpc.Conn
//	}
//
// A [Seat] is an agent's place, which one process has at a time. The driver embeds it in
// its agent, which has Close and Kill by that:
//
//	type agent struct {
//		*seat.Seat[*process]
//		d *Driver
//	}
//
//	// before each turn, while Switching is held
//	p, err := a.Ready(ctx, func(p *process) bool { return p.launch.serves(l) }, func(ctx context.Context) (*process, error) {
//		p, err := a.d.start(ctx, l) // starts and greets it
//		if err == nil {
//			a.Take(p)
//			a.Work.Go(func() { p.serve(a) }) // reads until the end, then calls p.End
//		}
//		return p, err
//	})
//
// # Who ends what
//
// A process that was taken ends by itself, or with Retire, Release, Close or Kill of its
// seat. Whoever reads it calls End when nothing is left to read: End ends the tree of
// processes, waits for what goes on beside the reader, and has the driver tell what is
// left to tell. Told is closed after that, and Close and Kill wait for it. A process that
// nobody took is ended with Discard, or by its driver in the same two steps.
package seat
