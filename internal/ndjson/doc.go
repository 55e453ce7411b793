// Package ndjson reads and writes newline-delimited JSON, the framing of every
// agent that talks over pipes. Its one job is lines: it does not decode them.
//
// A [Reader] has no upper limit that ends the stream. A line over the limit is
// drained and reported once as a [*LineTooLongError]; the next call continues
// with the next line. It holds the memory of a large line no longer than until
// the next call.
//
// Concurrency: a Reader belongs to one goroutine at a time, and the slice that
// it returns is valid until its next call. A [Writer] may be shared: each value
// reaches the underlying writer whole, in one Write call, under a mutex.
// Neither closes what it wraps; whoever opened it does. Neither starts a
// goroutine.
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
