package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// errNoBouncer says that no PgBouncer is installed.
var errNoBouncer = errors.New("no PgBouncer is installed (Debian, Ubuntu: apt-get install pgbouncer; macOS: brew install pgbouncer)")

// Bouncer is a real PgBouncer in front of a server, in transaction mode.
type Bouncer struct {
	addr string
	mu   sync.Mutex
	used map[string]string // schema of a name
}

// bouncerSchemas is how many schemas can be reached. An address cannot choose one, so
// each has a database's name of its own.
const bouncerSchemas = 100

// Bouncer starts a PgBouncer until the end of the test. Without one the test is skipped,
// or fails if there must be one. The settings are lines of its configuration.
func (s *Server) Bouncer(t testing.TB, settings ...string) *Bouncer {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which is not in everybody's PATH
		_, err = os.Stat(program)
	}
	switch {
	case err != nil && Required():
		t.Fatal(errNoBouncer)
	case err != nil:
		t.Skip(errNoBouncer)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "terret-pgbouncer-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	host, serverPort, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	b := &Bouncer{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), used: map[string]string{}}
	server := fmt.Sprintf("host=%s port=%s user=terret password=%s dbname=postgres", host, serverPort, password)
	text := []byte("[databases]\n* = " + server + "\n")
	for i := range bouncerSchemas {
		text = fmt.Appendf(text, "%[1]s = %[2]s connect_query='SET search_path TO %[1]s'\n", b.schema(i), server)
	}
	text = fmt.Appendf(text, "\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\nunix_socket_dir=\n"+
		"auth_type=any\npool_mode=transaction\nmax_client_conn=300\ndefault_pool_size=4\nlogfile=%s\n%s\n",
		port, filepath.Join(dir, "log"), strings.Join(settings, "\n"))
	if err := errors.Join(os.WriteFile(file, text, 0o600), giveAway(dir), giveAway(file)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-q", file) // stores are closed after the test's context ends
	cmd.Dir = dir
	asOther(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	b.await(t, filepath.Join(dir, "log"))
	return b
}

func (b *Bouncer) await(t testing.TB, log string) {
	t.Helper()
	for range 1000 {
		if c, err := net.Dial("tcp", b.addr); err == nil { //nolint:noctx // on this machine
			_ = c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	said, _ := os.ReadFile(log) // what it said, if anything
	t.Fatalf("PgBouncer does not start: %s", said)
}

func (b *Bouncer) schema(i int) string {
	_, port, _ := net.SplitHostPort(b.addr) // Bouncer has made it
	return fmt.Sprintf("pooled_%s_%d", port, i)
}

// URL is an address through the PgBouncer, the same for the same name, and the schema
// that it leads to, which the caller makes.
func (b *Bouncer) URL(name string) (url, schema string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used[name] == "" {
		b.used[name] = b.schema(len(b.used))
	}
	schema = b.used[name]
	return fmt.Sprintf("postgres://terret:%s@%s/%s", password, b.addr, schema), schema
}
