package httpapi

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// answerPiece is how much of an answer a reader must take within the time limit.
	answerPiece = 64 << 10
	// crowdedWrite is that time limit while there are many answers.
	crowdedWrite = 5 * time.Second
)

// taken is a response whose reader must take it: one that takes nothing for some time is
// disconnected. While many answers are being given, it gets little of the kernel's memory,
// so that little is made for nobody, and less time. Streams have their own bounds.
type taken struct {
	http.ResponseWriter
	s      *Server
	conn   *net.TCPConn // nil in tests
	narrow bool         // it has little of the kernel's memory
	off    bool         // it is a stream
	done   func()       // counts it out
}

// taking bounds the answer to a request, until its done is called.
func (s *Server) taking(w http.ResponseWriter, r *http.Request) *taken {
	conn, _ := r.Context().Value(connKey{}).(*net.TCPConn)
	s.answers.Add(1)
	return &taken{ResponseWriter: w, s: s, conn: conn, done: sync.OnceFunc(func() { s.answers.Add(-1) })}
}

// Unwrap is for http.ResponseController.
func (t *taken) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Write implements http.ResponseWriter.
func (t *taken) Write(b []byte) (written int, err error) {
	for first := true; (first || len(b) > 0) && err == nil; first = false {
		var n int
		piece := b[:min(len(b), answerPiece)]
		t.hurry()
		n, err = t.ResponseWriter.Write(piece)
		written, b = written+n, b[len(piece):]
	}
	return written, err
}

// hurry sets the time limit for the next piece.
func (t *taken) hurry() {
	if t.off {
		return
	}
	limit := t.s.limits.Write
	if t.s.answers.Load() >= crowd {
		limit = min(limit, crowdedWrite)
		if t.conn != nil && !t.narrow {
			t.narrow = true
			_ = t.conn.SetWriteBuffer(crowdBuffer)
		}
	}
	_ = http.NewResponseController(t.ResponseWriter).SetWriteDeadline(time.Now().Add(limit))
}

// leaveTime takes the time limit away from the response that w writes: it is a stream.
func leaveTime(w http.ResponseWriter) {
	for {
		switch v := w.(type) {
		case *taken:
			v.off = true
			v.done()
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return
		}
	}
}
