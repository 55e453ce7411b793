//go:build unix

package tools

import (
	"os"
	"syscall"
	"testing"
)

// TestSpecialFiles has files that would hang a reader, or act on being opened.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := syscall.Mkfifo(b.path("fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	b.write("plain", "x\n")
	b.link("fifo", "tofifo")
	for _, path := range []string{"fifo", "tofifo"} {
		b.refused("Read", input{"file_path": path}, "named pipe")
		b.refused("Write", input{"file_path": path, "content": "x"}, "named pipe")
		b.refused("Edit", input{"file_path": path, "old_string": "x", "new_string": "y"}, "named pipe")
		b.refused("Grep", input{"path": path, "pattern": "x"}, "named pipe")
	}
	for _, path := range []string{"/dev/zero", "/dev/tty", "/dev/null"} {
		if _, err := os.Stat(path); err == nil {
			b.fails(b.prepare("Read", input{"file_path": path}), "a device")
			b.fails(b.prepare("Write", input{"file_path": path, "content": "x"}), "a device")
		}
	}
	wantText(t, "plain:1:x\n", b.works("Grep", input{"pattern": "x"}).Text)
	wantWords(t, b.works("Glob", input{"pattern": "*"}).Text, "fifo\n", "plain\n")
}

// TestFifoPutInTheWay has a file become a pipe after Prepare.
func TestFifoPutInTheWay(t *testing.T) {
	t.Parallel()
	for tool, in := range map[string]input{
		"Read":  {"file_path": "f"},
		"Write": {"file_path": "f", "content": "y"},
		"Edit":  {"file_path": "f", "old_string": "x", "new_string": "y"},
		"Grep":  {"path": "f", "pattern": "x"},
	} {
		b := newBench(t)
		b.write("f", "x\n")
		use := b.prepare(tool, in)
		if err := os.Remove(b.path("f")); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(b.path("f"), 0o666); err != nil {
			t.Fatal(err)
		}
		b.fails(use, "named pipe")
		b.noLeftovers()
	}
}

// TestOpenNeverWaits opens a pipe that nobody writes to, past all checks.
func TestOpenNeverWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := syscall.Mkfifo(b.path("f"), 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, _, err := openIn(root, "f", place{shown: "f"}); err == nil {
		t.Error("a pipe was opened")
	}
}
