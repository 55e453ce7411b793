package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/terret-dev/terret"
)

// Door is what other programs speak already, mounted at a path of its own and below. What comes
// in passes the checks that every request passes, and has a valid token.
type Door struct {
	Path string // such as /uhp
	// Open makes the door. What it does, it does by calls of the server, with the token of
	// the request: it knows nothing else.
	// The server closes it when it is closed itself.
	Open func(server http.Handler) OpenDoor
	// Public reports whether a request needs no token; nil means that none is public.
	Public func(*http.Request) bool
	// OtherBody reports whether a request may have a body that is not JSON; nil: none may.
	OtherBody func(*http.Request) bool
	// Refuse writes an error in the door's own form. A status of zero means that of the
	// error's code.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err *terret.Error)
}

// OpenDoor serves what comes through a door.
type OpenDoor interface {
	http.Handler
	// Close ends what the door does besides, and waits for it.
	Close()
}

// mountDoors opens the doors. They see bodies as large as any route takes.
func (s *Server) mountDoors() {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) })
	for _, d := range s.cfg.Doors {
		open := d.Open(server)
		s.closeDoors = append(s.closeDoors, open.Close)
		for _, at := range []string{d.Path, d.Path + "/"} {
			s.bodyLimits[at] = s.limits.Body
			s.mux.Handle(at, received(open))
		}
	}
}

// doorOf is the door that a path leads to, or nil.
func (s *Server) doorOf(path string) *Door {
	for i, d := range s.cfg.Doors {
		if path == d.Path || strings.HasPrefix(path, d.Path+"/") {
			return &s.cfg.Doors[i]
		}
	}
	return nil
}

// refuse answers in the form that the caller of that path reads.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	d := s.doorOf(r.URL.Path)
	if d == nil {
		writeProblem(w, err)
		return
	}
	p := problemOf(err)
	e := *terret.AsError(err)
	e.Code, e.Message, e.Field = p.Kind, p.Detail, p.Field
	d.Refuse(w, r, p.Status, &e)
}

// received lets go of the time and the room for a body as soon as that was read: what a
// door does then may take long.
func received(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			bodyRead(r.Context())
		} else {
			r = r.WithContext(r.Context())
			r.Body = &wholeBody{r.Body, func() {
				bodyRead(r.Context())
				bodyDone(r.Context())
			}}
		}
		next.ServeHTTP(w, r)
	})
}

// wholeBody calls back when its end was read.
type wholeBody struct {
	io.ReadCloser

	read func()
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.read()
	}
	return n, err
}
