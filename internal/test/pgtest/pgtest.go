// Package pgtest runs a real PostgreSQL for tests: a private, throw-away server from the
// system's packages, on a port of 127.0.0.1, for as long as a test binary runs.
//
//	func TestMain(m *testing.M) {
//		server := pgtest.Main() // nil if there is none
//		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
//			server.Stop()
//			os.Exit(code)
//		}))
//	}
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// password is that of the only user. The server listens on the loopback interface only.
const password = "throw-away"

// urlEnv tells child processes of a test where the server is.
const urlEnv = "TERRET_PGTEST_SERVER"

// ErrNone says that no PostgreSQL is installed.
var ErrNone = errors.New("no PostgreSQL is installed (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql)")

// errTaken says that another program has the port.
var errTaken = errors.New("somebody else has the port of the server")

// Required reports whether tests must fail rather than skip without a PostgreSQL.
func Required() bool { return os.Getenv("CI") != "" || os.Getenv("TERRET_TEST_POSTGRES") == "1" }

// Server is a running PostgreSQL. A nil one stands for none.
type Server struct {
	bin, dir string
	addr     string
	owned    bool   // this process started it
	listen   string // further addresses, each after a comma

	wrapper *exec.Cmd
	life    io.Closer // the server ends when this is closed, or the process dies
}

// Main starts a server for a test binary, or finds the one that its parent has started.
// It returns nil if there is no PostgreSQL, after saying so, and exits if there must be
// one.
func Main() *Server {
	if addr := os.Getenv(urlEnv); addr != "" {
		return &Server{addr: addr}
	}
	s, err := Start()
	if err == nil {
		err = os.Setenv(urlEnv, s.addr)
	}
	switch {
	case err == nil:
		return s
	case errors.Is(err, ErrNone) && !Required():
		fmt.Fprintln(os.Stderr, "tests with PostgreSQL are skipped:", err)
		return nil
	}
	fmt.Fprintln(os.Stderr, "PostgreSQL:", err)
	os.Exit(1)
	return nil
}

// Asked starts a server if TERRET_TEST_STORE=postgres asks for the tests to run on one.
// Without it they run on SQLite, and it returns nil. It ends the program if there is no
// PostgreSQL.
func Asked() *Server {
	if os.Getenv("TERRET_TEST_STORE") != "postgres" {
		return nil
	}
	s := Main()
	if s == nil {
		os.Exit(1)
	}
	return s
}

// Start makes an empty cluster and starts a server for it.
func Start() (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "terret-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, owned: true}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	err = s.Launch()
	for range 5 { // another program may have taken the port since we looked
		if !errors.Is(err, errTaken) {
			break
		}
		if err = s.choosePort(); err == nil {
			err = s.Launch()
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// find returns the folder of the server's programs: the newest there is.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(ErrNone, err)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 is the oldest
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) create() error {
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	if err := errors.Join(giveAway(s.dir), giveAway(secret)); err != nil {
		return err
	}
	cmd := s.command("initdb", "--pgdata", s.data(), "--username", "terret", "--pwfile", secret, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.choosePort()
}

func (s *Server) choosePort() error {
	port, err := freePort()
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return err
}

// freePort finds a port below those that systems give to connections: otherwise one of them
// could have it while the server is restarted.
func freePort() (int, error) {
	const first, ports, tries = 15_000, 15_000, 100
	var err error
	for range tries {
		var l net.Listener
		port := first + mathrand.IntN(ports)
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil { //nolint:noctx // it listens for a moment
			return port, l.Close()
		}
	}
	return 0, err
}

// command runs a program of the server as a user who may: not root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) //nolint:noctx // it lives as long as the tests
	cmd.Dir = s.dir
	asOther(cmd)
	return cmd
}

// Launch starts the server, and waits until it answers.
func (s *Server) Launch() error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	// The shell stops the server when its input ends, which it does when this process
	// dies, whatever the reason.
	const wrapper = `"$@" & server=$!; cat >/dev/null; kill -INT $server 2>/dev/null; wait $server`
	s.wrapper = exec.Command("/bin/sh", "-c", wrapper, "sh", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", port, //nolint:noctx // it lives as long as the tests
		"-c", "listen_addresses=127.0.0.1"+s.listen, "-c", "unix_socket_directories="+s.dir, "-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "log_min_messages=fatal")
	s.wrapper.Dir = s.dir
	output, err := os.Create(filepath.Join(s.dir, "output"))
	if err != nil {
		return err
	}
	defer output.Close()
	s.wrapper.Stderr = output
	asOther(s.wrapper)
	if s.life, err = s.wrapper.StdinPipe(); err != nil {
		return err
	}
	if err := s.wrapper.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		// By its socket: on the port there may be the server of another test.
		err := s.command("pg_isready", "-q", "-h", s.dir, "-p", port).Run()
		if err == nil {
			return nil
		}
		said, _ := os.ReadFile(output.Name()) // what it said, if anything
		if strings.Contains(string(said), "could not create any TCP/IP sockets") {
			return errors.Join(errTaken, s.Halt())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the server does not start: %w: %s", err, said), s.Halt())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Halt stops the server as an administrator does: clients are cut off.
func (s *Server) Halt() error {
	err := s.life.Close()
	_ = s.wrapper.Wait() // the shell's status is that of the server
	return err
}

// Kill ends all processes of the server as kill -9 does, as if the machine had died,
// except that its files are those that the server has written.
func (s *Server) Kill() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	// Its children end when they notice. Until then the server cannot start again.
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // elsewhere than on Linux: unknown
	err = errors.Join(p.Kill(), s.Halt())
	for child := range strings.FieldsSeq(string(children)) {
		for range 500 {
			if _, gone := os.Stat("/proc/" + child); gone != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return err
}

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	if s == nil || !s.owned {
		return
	}
	if err := errors.Join(s.Halt(), os.RemoveAll(s.dir)); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
	}
}

// URL is the address of a schema of its own for each name.
func (s *Server) URL(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("postgres://terret:%s@%s/postgres?search_path=t_%x", password, s.addr, sum[:8])
}

// Address is where a store is that SQLite would have at path: there, or in a schema that
// stands for it. In a bubble of synctest, where it is the year 2000, there is no network,
// so a store in memory stays there.
func (s *Server) Address(path string) string {
	const memory = ":memory:"
	switch {
	case s == nil || path == memory && time.Now().Year() == 2000:
		return path
	case path == memory:
		return s.URL(rand.Text())
	}
	return s.URL(path)
}

// Addr is host and port of the server.
func (s *Server) Addr() string { return s.addr }

// ForTest starts a server until the end of the test. Without a PostgreSQL the test is
// skipped, or fails if there must be one.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if errors.Is(err, ErrNone) && !Required() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
