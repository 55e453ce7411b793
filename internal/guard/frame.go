package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The two pipes carry frames: one byte of kind, four of length, the payload.
// JSON is not used, since arguments and environment are bytes, not text.
const (
	frameSpec       byte = 'c' // to the guard: what to run; the first frame, once
	frameSignal     byte = 's' // to the guard: signal the agent
	frameSignalTree byte = 't' // to the guard: signal every descendant
	frameEnd        byte = 'e' // to the guard: TERM, a bound, KILL, until none is left

	frameStarted byte = 'p' // from the guard: the agent's pid
	frameFailed  byte = 'f' // from the guard: the agent could not be started
	frameExited  byte = 'x' // from the guard: the agent's wait status and age
	frameGone    byte = 'z' // from the guard: nothing is left; the last frame
)

const maxFrame = 64 << 20 // far above what the kernel takes as arguments

type frame struct {
	kind byte
	body []byte
}

// writeFrame writes one frame in one Write call.
func writeFrame(w io.Writer, kind byte, body []byte) error {
	if len(body) > maxFrame {
		return fmt.Errorf("arguments and environment of %d bytes are over the limit of %d", len(body), maxFrame)
	}
	b := make([]byte, 0, 5+len(body))
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body))) // bounded by maxFrame
	_, err := w.Write(append(b, body...))
	return err
}

func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return frame{}, fmt.Errorf("frame of %d bytes is over the limit of %d", n, maxFrame)
	}
	f := frame{kind: head[0], body: make([]byte, n)}
	_, err := io.ReadFull(r, f.body)
	return f, err
}

// numbers packs and unpacks the payloads that are plain integers.
func numbers(list ...int64) []byte {
	var b []byte
	for _, n := range list {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) // a bit pattern, turned back below
	}
	return b
}

// number returns the i-th integer of a payload, zero when it is not there.
func (f frame) number(i int) int64 {
	if len(f.body) < 8*(i+1) {
		return 0
	}
	return int64(binary.BigEndian.Uint64(f.body[8*i:])) // a bit pattern, see numbers
}

// spec is what the guard needs to know of a Config.
type spec struct {
	path, dir string
	cgroup    string // the folder of the group to make, or ""
	argv, env []string
	grace     int64 // nanoseconds
	keep      bool
	terminal  bool
}

// Flags of a spec.
const (
	flagKeep = 1 << iota
	flagTerminal
)

func (s *spec) encode() []byte {
	flags := int64(0)
	if s.keep {
		flags |= flagKeep
	}
	if s.terminal {
		flags |= flagTerminal
	}
	b := numbers(s.grace, flags, int64(len(s.argv)), int64(len(s.env)))
	for _, list := range [][]string{{s.path, s.dir, s.cgroup}, s.argv, s.env} {
		for _, str := range list {
			b = append(append(b, str...), 0)
		}
	}
	return b
}

func decodeSpec(f frame) (*spec, error) {
	bad := errors.New("malformed start request")
	if f.kind != frameSpec || len(f.body) < 32 {
		return nil, bad
	}
	s := &spec{grace: f.number(0), keep: f.number(1)&flagKeep != 0, terminal: f.number(1)&flagTerminal != 0}
	argc, envc := f.number(2), f.number(3)
	rest := f.body[32:]
	if argc < 1 || envc < 0 || argc+envc > int64(len(rest)) {
		return nil, bad
	}
	var list []string
	for start, i := 0, 0; i < len(rest); i++ {
		if rest[i] == 0 {
			list = append(list, string(rest[start:i]))
			start = i + 1
		}
	}
	if int64(len(list)) != 3+argc+envc {
		return nil, bad
	}
	s.path, s.dir, s.cgroup = list[0], list[1], list[2]
	s.argv, s.env = list[3:3+argc], list[3+argc:]
	return s, nil
}
