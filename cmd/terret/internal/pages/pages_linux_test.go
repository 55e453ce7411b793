package pages

import (
	"os"
	"slices"
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

// TestConstant tells which mappings lose nothing: a page that the dynamic linker wrote to
// before it was protected must stay.
func TestConstant(t *testing.T) {
	t.Parallel()
	const smaps = `00400000-01385000 r-xp 00000000 fe:00 103     /opt/my tools/terret
Size:              15892 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01385000-02483000 r--p 00f85000 fe:00 103     /opt/my tools/terret
Anonymous:             0 kB
02483000-02484000 r--p 02083000 fe:00 103     /opt/my tools/terret
Anonymous:             4 kB
02484000-025cd000 rw-p 02084000 fe:00 103     /opt/my tools/terret
Anonymous:             0 kB
025cd000-027f3000 r--p 00000000 00:00 0 
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 104     /usr/lib/libc.so
Anonymous:             0 kB
zz400000-01385000 r-xp 00000000 fe:00 103     /opt/my tools/terret
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0xf85000}, {0x1385000, 0x10fe000}}
	if got := constant([]byte(smaps), "/opt/my tools/terret"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if got := constant(nil, "/opt/my tools/terret"); len(got) > 0 {
		t.Errorf("%x of nothing", got)
	}
}
