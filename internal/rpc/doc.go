// Package rpc is a JSON-RPC connection over lines: one JSON object per line, both
// sides may call. Codex and every ACP agent speak it on their stdin and stdout.
//
//	p, err := proc.Start(ctx, spec)
//	conn := rpc.New(rpc.Join(p.Stdout(), p.Stdin()), rpc.Options{
//		Request:      d.answer, // the agent asks: each in its own goroutine
//		Notification: d.hear,   // the agent tells: one at a time, in order
//		Cancel:       "$/cancel_request",
//	})
//	err = conn.Call(ctx, "initialize", params, &result)
//	...
//	p.Stop(ctx)  // the agent ends, and what it still says is delivered
//	conn.Close() // wait for the rest
//
// # Order
//
// Everything that arrives goes through one queue and is dispatched in the order of
// the wire. So a Call returns only after every notification that came before its
// response was handled, and a request starts only after those that came before it.
// Nothing that comes later waits for a request: requests run concurrently.
//
// It follows that a Notification handler must not wait for a Call, nor for a request
// of the other side: both stand behind it in the queue. Nor may a handler wait for
// Close, which waits for the handler.
//
// The queue has no length at which messages are lost or the connection is closed.
// When it holds more than 64 MB, reading pauses until handlers catch up.
//
// # The life of a connection
//
//	phase     begins when                    calls, notifications    what arrives
//	open      New returns                    are sent                is dispatched
//	draining  reading has ended, or a        fail at once; those     what was read is still
//	          write has failed               that wait still wait    dispatched, but requests,
//	                                                                 whose answer nobody reads
//	closing   Close is called, the queue     fail, waiting ones too  is dropped
//	          is drained, a Notification
//	          handler fails, or 2 seconds
//	          have passed since a write
//	          failed
//	closed    the last goroutine is gone     fail                    nothing
//
// A connection never goes back. On the way from draining to closing the contexts of
// all handlers are cancelled and the stream is closed. All of this is decided in one
// place, [Conn.update], from a handful of facts.
//
// A draining connection waits for the queue, because an agent's last words tell why
// it died. After a failed write it keeps reading for the same reason, but not for
// long: the agent may have closed its stdin and live on.
//
// With [Options.Grace] the end of reading counts a little later: the connection stays open
// until what was read is answered, for those who close their end behind their last request.
//
// # Ids
//
// Calls are numbered from 1 on. The other side's ids are its own: numbers (0 too) and
// strings, which are echoed as they came. Both sides may use the same id at the same
// time. A request whose id is null is a notification.
//
// # Goroutines
//
// A Conn has three goroutines: one reads, one dispatches, one writes. Each request of
// the other side has one more. [Conn.Close] and [Conn.Wait] return when all are gone.
package rpc
