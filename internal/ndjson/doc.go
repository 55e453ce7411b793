// Package ndjson reads and writes newline-delimited JSON, the framing of every agent
// that talks over pipes. It handles lines and does not decode them.
//
// A [Reader] never ends the stream because of a limit. A line over the limit is drained
// and reported once as a [*LineTooLongError]; the next call continues with the next
// line. It releases the memory of a large line at the next call.
//
// Concurrency: only one goroutine at a time may use a Reader, and the slice that it
// returns is valid until its next call. A [Writer] may be shared: each value reaches
// the underlying writer complete, in one Write call, under a mutex. Neither closes what
// it wraps; the code that opened it does. Neither starts a goroutine.
//
//	r := ndjson.NewReader(p.Stdout(), 0)
//	for {
//		line, err := r.Next()
//		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
//			warn(tooLong) // and go on
//			continue
//		}
//		if err != nil {
//			break // io.EOF, or what the pipe said
//		}
//		handle(line)
//	}
package ndjson
