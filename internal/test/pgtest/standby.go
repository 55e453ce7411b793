package pgtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Standby makes a copy of the server that follows it, until the end of the test.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "terret-standby-") //nolint:usetesting // t.TempDir is closed to other users
	if err == nil {
		err = giveAway(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	free, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	copied := &Server{bin: s.bin, dir: dir, owned: true, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(free))}
	cmd := copied.command("pg_basebackup", "-h", host, "-p", port, "-U", "terret", "-D", copied.data(), "-R", "-X", "stream", "-c", "fast")
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	if err := copied.Launch(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(copied.Stop)
	return copied
}

// Promote makes a standby a server of its own, which can be written to.
func (s *Server) Promote() error {
	if out, err := s.command("pg_ctl", "promote", "-w", "-D", s.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w: %s", err, out)
	}
	return nil
}

// Both is an address that names two servers, of which the one is used that can be written
// to.
func (s *Server) Both(other *Server, name string) string {
	return strings.Replace(s.URL(name), s.addr, s.addr+","+other.addr, 1) + "&target_session_attrs=read-write"
}

// ListenOn restarts the server, so that it can be reached at further addresses of this
// machine, by those on the same network (of 256).
func (s *Server) ListenOn(t testing.TB, hosts ...string) {
	t.Helper()
	access, err := os.ReadFile(filepath.Join(s.data(), "pg_hba.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		s.listen += "," + h
		access = fmt.Appendf(access, "host all all %s/24 scram-sha-256\n", h)
	}
	s.WriteFile(t, "pg_hba.conf", access)
	if err := s.Halt(); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(); err != nil {
		t.Fatal(err)
	}
}

// WriteFile writes a file into the folder of the server's data, for the server alone.
func (s *Server) WriteFile(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(s.data(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := giveAway(path); err != nil {
		t.Fatal(err)
	}
}
