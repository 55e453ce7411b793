package terminal

import "bytes"

// ring keeps the newest bytes of a stream, at most max. It grows as needed.
type ring struct {
	buf   []byte
	start int   // in buf, of the oldest byte, once buf is full
	end   int64 // how many bytes there were in all
	max   int
}

// oldest is the number of the oldest byte that is kept.
func (r *ring) oldest() int64 { return r.end - int64(len(r.buf)) }

func (r *ring) write(p []byte) {
	r.end += int64(len(p))
	if len(p) >= r.max {
		r.buf, r.start = append(r.buf[:0], p[len(p)-r.max:]...), 0
		return
	}
	if room := r.max - len(r.buf); room > 0 { // not full, so start is 0
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.start:], p)
		r.start = (r.start + n) % r.max
		p = p[n:]
	}
}

// lineWithin is how far a reader that has missed something looks for the start of a line.
const lineWithin = 4 << 10

// read returns at most max bytes after that many, and how many there were with them. If
// they are no longer kept, it begins with the oldest line, and reports that.
func (r *ring) read(after int64, max int) (p []byte, next int64, missed bool) {
	if missed = after < r.oldest(); missed {
		after = r.oldest()
		if i := bytes.IndexByte(r.slice(after, lineWithin), '\n'); i >= 0 {
			after += int64(i) + 1
		}
	}
	after = min(after, r.end)
	p = r.slice(after, max)
	return p, after + int64(len(p)), missed
}

// slice copies at most max bytes from that one on.
func (r *ring) slice(from int64, max int) []byte {
	n := min(max, int(r.end-from))
	if n <= 0 {
		return nil
	}
	out := make([]byte, n)
	at := (r.start + int(from-r.oldest())) % len(r.buf)
	copy(out[copy(out, r.buf[at:]):], r.buf)
	return out
}
