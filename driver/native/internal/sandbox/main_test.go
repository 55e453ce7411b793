package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperArg makes the test binary the helper.
const helperArg = "sandbox-exec"

// dialArg makes it try to reach an address.
const dialArg = "dial"

// attemptArg makes it try to reach out, on Linux.
const attemptArg = "attempt"

// refusedExit is the exit status of an attempt that failed.
const refusedExit = 3

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperArg {
		Main(os.Args[2:])
	}
	if len(os.Args) == 4 && os.Args[1] == dialArg {
		dial(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == attemptArg {
		if err := step(os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(refusedExit)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// dial says whether something can be sent to the address.
func dial(network, address string) {
	c, err := new(net.Dialer).Dial(network, address)
	if err == nil {
		_, err = c.Write([]byte("x"))
	}
	if err == nil && network == "udp" { // whether it arrives is told by the answer, if at all
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			err = nil
		}
	}
	if err == nil {
		fmt.Println("it got out")
		return
	}
	fmt.Println("no way out")
	fmt.Fprintln(os.Stderr, err)
}
