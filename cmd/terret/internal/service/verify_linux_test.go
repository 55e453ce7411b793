package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// verify has systemd read a unit, as --user or --system, and returns its complaints. The program
// of the unit need not be installed here.
func verify(t *testing.T, mode, unit string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit = regexp.MustCompile(`(?m)^ExecStart=/usr/\S+/terret`).ReplaceAllLiteralString(unit, "ExecStart="+self)
	file := filepath.Join(t.TempDir(), UnitName)
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", mode, file)
	cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=warning", "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	var said []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, UnitName) { // and not about units of this machine
			said = append(said, line)
		}
	}
	if err != nil && len(said) == 0 {
		t.Fatalf("systemd-analyze: %v\n%s", err, out)
	}
	return strings.Join(said, "")
}

// TestSystemdReadsUnits has systemd itself read every unit of ours: the one that `terret service
// install` writes, the one in packages, and those for a fleet.
func TestSystemdReadsUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Error(err)
		}
		t.Skipf("nobody has read the units: %v (Debian: the package systemd)", err)
	}
	written, err := Unit(odd)
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{"terret service install": written}
	const top = "../../../../"
	files, err := filepath.Glob(top + "deploy/*.service")
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range append(files, top+"packaging/terret.service") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		units[strings.TrimPrefix(file, top)] = string(text)
	}
	for name, unit := range units {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			mode := "--user"
			if strings.HasPrefix(name, "deploy/") {
				mode = "--system"
			}
			if said := verify(t, mode, unit); said != "" {
				t.Errorf("%s\n%s", said, unit)
			}
			for _, fault := range [][2]string{
				{"[Service]\n", "[Service]\nNonsense=1\n"},
				{"ExecStart=", "ExecStart=not/absolute "},
				{"RestartSec=2", "RestartSec=two"},
			} {
				broken := strings.Replace(unit, fault[0], fault[1], 1)
				if said := verify(t, mode, broken); broken == unit || said == "" {
					t.Errorf("systemd does not see %q", fault[1])
				}
			}
		})
	}
}
