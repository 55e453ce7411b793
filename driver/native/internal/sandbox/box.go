package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Box says what a command may change. All paths are absolute; those that do not exist
// count for nothing, and neither do the kernel's.
type Box struct {
	Write   []string // folders that it may write to
	Protect []string // folders below them that it may not write to after all
}

// mount is a folder, and whether it may be written to.
type mount struct {
	path  string
	write bool
}

// mounts are the folders of the box without symbolic links, each before those that lie in
// it, so that the last one that holds a path counts. Those of the kernel are protected.
func (b Box) mounts() []mount {
	var out []mount
	table, _ := os.ReadFile("/proc/self/mountinfo") // only Linux has it
	kernel := kernelFolders(string(table))
	add := func(paths []string, write bool) {
		for _, p := range paths {
			real, err := filepath.EvalSymlinks(p)
			switch {
			case err != nil || !filepath.IsAbs(real):
			case write && holds(kernel, real) && !within(real, "/dev/shm"): // the kernel's; /dev/shm is data
			default:
				out = append(out, mount{real, write})
			}
		}
	}
	add(b.Write, true)
	add(b.Protect, false)
	add(kernel, false)
	slices.SortStableFunc(out, func(a, b mount) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out
}

// MayWrite reports whether a command in the box may change the file, whose path is
// absolute and without symbolic links.
func (b Box) MayWrite(path string) bool {
	may := false
	for _, m := range b.mounts() {
		if within(path, m.path) {
			may = m.write
		}
	}
	return may
}

// excepted is a protected folder inside one that may be written to; empty if there is
// none.
func (b Box) excepted() string {
	mounts := b.mounts()
	for i, m := range mounts {
		if m.write {
			continue
		}
		for _, outer := range mounts[:i] {
			if outer.write && within(m.path, outer.path) {
				return m.path
			}
		}
	}
	return ""
}

// kernelFolders are the folders whose files are no data, but the kernel's settings and
// devices, also where Linux's table of mounts has them.
func kernelFolders(table string) []string {
	out := []string{"/dev", "/proc", "/sys"}
	for line := range strings.Lines(table) {
		// 36 35 98:0 /root /mount/point options [more…] - type source options
		before, after, _ := strings.Cut(line, " - ")
		kind, _, _ := strings.Cut(after, " ")
		if fields := strings.Fields(before); len(fields) > 4 && slices.Contains(kernelTypes, kind) {
			if at := mountEscapes.Replace(fields[4]); !holds(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// kernelTypes are the file systems of such folders.
var kernelTypes = strings.Fields("binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl mqueue proc pstore " +
	"resctrl securityfs selinuxfs smackfs sysfs tracefs")

// mountEscapes are the characters that the table of mounts writes in another way.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// holds reports whether a path lies in one of the folders.
func holds(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(path, f) })
}

// within reports whether a path is the folder, or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
