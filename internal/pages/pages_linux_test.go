package pages

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestUnmap holds that less of the program is mapped afterwards, and that it still runs.
func TestUnmap(t *testing.T) {
	before := mapped(t)
	if err := Unmap(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(t); after >= before {
		t.Errorf("%d kB of files are mapped, %d before", after, before)
	}
}

// mapped is how much of files is in this process's memory, in kB.
func mapped(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	size, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(size)
	if err != nil {
		t.Skipf("this kernel does not tell: %v", err)
	}
	return n
}

// TestConstant tells which mappings lose nothing.
func TestConstant(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"00400000-01385000 r-xp 00000000 fe:00 103 /opt/my tools/terret": true,
		"01385000-02483000 r--p 00f85000 fe:00 103 /opt/my tools/terret": true,
		"02483000-025cd000 rw-p 02083000 fe:00 103 /opt/my tools/terret": false,
		"025cd000-027f3000 rw-p 00000000 00:00 0 ":                       false,
		"00400000-01385000 r-xp 00000000 fe:00 103 /usr/lib/libc.so":     false,
		"zz400000-01385000 r-xp 00000000 fe:00 103 /opt/my tools/terret": false,
		"": false,
	} {
		start, size, got := constant(line, "/opt/my tools/terret")
		if got != want || got && (start == 0 || size == 0) {
			t.Errorf("%q: %v, at %x with %x bytes", line, got, start, size)
		}
	}
}
