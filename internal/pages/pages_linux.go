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
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		start, size, ok := constant(lines.Text(), program)
		if !ok {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, start, size, unix.MADV_DONTNEED); errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return lines.Err()
}

// constant returns the place of a mapping, if it is one of the program that nobody can
// write to. What was written to a page would be lost with it.
func constant(line, program string) (start, size uintptr, ok bool) {
	place, rest, _ := strings.Cut(line, " ")
	mode, _, _ := strings.Cut(rest, " ")
	if !strings.HasSuffix(line, " "+program) || (mode != "r-xp" && mode != "r--p") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(place, "-")
	a, errA := strconv.ParseUint(from, 16, 64)
	b, errB := strconv.ParseUint(to, 16, 64)
	return uintptr(a), uintptr(b - a), errA == nil && errB == nil
}
