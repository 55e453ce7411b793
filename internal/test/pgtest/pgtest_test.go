package pgtest

import (
	"errors"
	"net"
	"testing"
)

// A server whose port somebody else has does not pass for one that runs, even if a
// PostgreSQL answers there, and takes another port.
func TestTakenPort(t *testing.T) {
	first, err := Start()
	if errors.Is(err, ErrNone) && !Required() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Stop)
	second, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	if err := second.Halt(); err != nil {
		t.Fatal(err)
	}
	own := second.addr
	second.addr = first.addr
	if err := second.Launch(); !errors.Is(err, errTaken) {
		t.Errorf("it is launched at the port of another: %v", err)
	}
	second.addr = own
	if err := second.Launch(); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("tcp", second.addr); err == nil {
		_ = l.Close()
		t.Error("nobody listens")
	}
}
