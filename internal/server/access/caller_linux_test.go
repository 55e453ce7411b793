package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/guard"
)

// children are what the test binary can run as, see childEnv.
var children = map[string]func(args []string) int{"call": callChild, "shell": shellChild, "let go": letGoChild}

// callChild asks a server and prints the status: URL, token.
func callChild(args []string) int {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, args[0], http.NoBody)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	req.Header.Set("Authorization", "Bearer "+args[1])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	resp.Body.Close()
	fmt.Print(resp.StatusCode)
	return 0
}

// shellChild runs callChild as a child of its own, without its environment.
func shellChild(args []string) int {
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", args...)
	cmd.Env = []string{childEnv + "=call"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// letGoChild sends a request and has nobody hold the connection while it is answered: address,
// token, how. It goes on until its input ends.
func letGoChild(args []string) int {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return 1
	}
	fmt.Fprintf(conn, "POST /decide HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", args[0], args[1])
	switch args[2] {
	case "reset":
		_ = conn.(*net.TCPConn).SetLinger(0)
	case "passed on": // to itself, and on its way meanwhile
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return 1
		}
		f, err := conn.(*net.TCPConn).File()
		if err != nil || syscall.Sendmsg(pair[0], []byte{0}, syscall.UnixRights(int(f.Fd())), nil, 0) != nil {
			return 1
		}
		f.Close()
	}
	conn.Close()
	fmt.Println("gone")
	_, _ = io.ReadAll(os.Stdin)
	return 0
}

// TestLetGo holds that an agent which lets go of its connection is one all the same.
func TestLetGo(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"closed", "reset", "passed on"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how == "passed on" && (!seesAll() || len(hidden()) > 0) {
				t.Skip("such a caller is not told from one that this user may not see")
			}
			tokens := newTokens(t)
			gate, err := NewGate(Options{Tokens: tokens})
			if err != nil {
				t.Fatal(err)
			}
			gone, answer := make(chan struct{}), make(chan error)
			server := httptest.NewServer(gate.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				<-gone
				answer <- From(r.Context()).May(Decide, "")
			})))
			defer server.Close()
			cmd := exec.CommandContext(t.Context(), os.Args[0], strings.TrimPrefix(server.URL, "http://"), adminToken(t, tokens), how)
			cmd.Env = []string{childEnv + "=let go", guard.OwnerEnv + "=somebody"}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "gone\n" {
				t.Fatalf("%q (%v)", line, err)
			}
			close(gone)
			if err := <-answer; err == nil {
				t.Error("it may decide")
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// decideServer answers 200 to whoever may decide.
func decideServer(t *testing.T) (url, token string) {
	t.Helper()
	tokens := newTokens(t)
	gate, err := NewGate(Options{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gate.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope, err := ParseScope(strings.TrimPrefix(r.URL.Path, "/"))
		if err == nil {
			err = From(r.Context()).May(scope, "")
		}
		if err != nil {
			w.WriteHeader(terret.AsError(err).Code.Class().HTTP)
		}
	})))
	t.Cleanup(server.Close)
	return server.URL, adminToken(t, tokens)
}

func TestAgentCannotAnswerItself(t *testing.T) {
	t.Parallel()
	url, token := decideServer(t)
	marks := []string{guard.OwnerEnv + "=somebody", guard.TreeEnv + "=abc.1"}
	for _, c := range []struct {
		name, as, scope string
		env             []string
		want            string
	}{
		{"a person's program may decide", "call", "decide", nil, "200"},
		{"an agent may not decide", "call", "decide", marks, "403"},
		{"nor administer", "call", "admin", marks, "403"},
		{"with one mark only", "call", "decide", marks[:1], "403"},
		{"with the other mark only", "call", "decide", marks[1:], "403"},
		{"nor what it starts without its environment", "shell", "decide", marks, "403"},
		{"a person's shell may", "shell", "decide", nil, "200"},
		{"an agent may prompt and look", "call", "prompt", marks, "200"},
		{"a variable of nearly that name is none", "call", "decide", []string{"X" + guard.OwnerEnv + "=1", "A=" + guard.OwnerEnv + "=1"}, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], url+"/"+c.scope, token)
			cmd.Env = append([]string{childEnv + "=" + c.as}, c.env...)
			out, err := cmd.Output()
			if err != nil || string(out) != c.want {
				t.Errorf("%q (%v), want %s", out, err, c.want)
			}
		})
	}
}

// A program that serves and asks itself is not refused, whatever it runs in.
func TestOwnProcessMayDecide(t *testing.T) {
	t.Parallel()
	url, token := decideServer(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/decide", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}

func TestFindSocket(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1D09 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1D09 01 00000000:00000000 00:00000000 00000000  1000        0 22 1 0 20 4 30 10 -1
   2: 0100007F:1D09 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 33 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1D09 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   4: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1D09 01 00000000:00000000 00:00000000 00000000  1000        0 44 1 0
   5: 00000000000000000000000001000000:C353 00000000000000000000000001000000:1D09 01 00000000:00000000 00:00000000 00000000  1000        0 55 1 0
   6: garbage
   7: ZZ:1 0100007F:1D09 01 a b c d e f 66
`
	of := func(inode string) socket { return socket{found: true, inode: inode, uid: "1000"} }
	for _, c := range []struct {
		from, to string
		want     socket
	}{
		{"127.0.0.1:50000", "127.0.0.1:7433", of("22")},
		{"127.0.0.1:7433", "127.0.0.1:50000", of("33")},
		{"127.0.0.1:50001", "127.0.0.1:7433", socket{found: true, uid: "0"}}, // closed: it has no inode
		{"[::ffff:127.0.0.1]:50000", "127.0.0.1:7433", of("22")},
		{"127.0.0.1:50002", "127.0.0.1:7433", of("44")},
		{"[::1]:50003", "[::1]:7433", of("55")},
		{"127.0.0.1:50004", "127.0.0.1:7433", socket{}},
		{"10.0.0.1:50000", "127.0.0.1:7433", socket{}},
	} {
		got := findSocket(bufio.NewScanner(strings.NewReader(table)), netip.MustParseAddrPort(c.from), netip.MustParseAddrPort(c.to))
		if got != c.want {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
