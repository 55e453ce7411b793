package pages

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Unmap gives back the pages of the program's code and constants that are in memory. The
// kernel keeps them cached and maps those that are used again.
func Unmap() error {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	for _, m := range constant(maps, program) {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED); errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return nil
}

// mapping is a part of the process's memory.
type mapping struct{ start, size uintptr }

// constant returns the mappings of the program that are the same as in its file: nobody
// can write to them, and nobody has. What was written to a page is lost with it; the
// linker of C writes to pages and protects them afterwards.
func constant(smaps []byte, program string) []mapping {
	var out []mapping
	var m mapping
	ours := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), " ")
		switch {
		case !strings.HasSuffix(field, ":"): // the first line of a mapping
			m, ours = place(field)
			ours = ours && strings.HasSuffix(value, " "+program) && (strings.HasPrefix(value, "r-xp ") || strings.HasPrefix(value, "r--p "))
		case field == "Anonymous:" && ours && strings.TrimSpace(value) == "0 kB":
			out = append(out, m)
		}
	}
	return out
}

// place reads an address range, such as 00400000-01385000.
func place(text string) (mapping, bool) {
	from, to, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseUint(from, 16, 64)
	b, errB := strconv.ParseUint(to, 16, 64)
	return mapping{uintptr(a), uintptr(b - a)}, errA == nil && errB == nil && a < b
}
