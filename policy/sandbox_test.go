//go:build unix

package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sandbox is a scratch folder in which scripts are run by a real shell while
// every command is a recorder: what they run is written down, and does nothing.
type sandbox struct {
	bin  string // the only folder in PATH
	log  string // what the recorders write
	root string // the project is some levels below
	work string // where scripts run
	uid  int    // who runs them, if the tests run as root
}

// recorder writes down its name and its words, each with a NUL, and then prints
// words that would do harm as a command or as an option.
const recorder = `#!/bin/sh
printf '%%s\0' $# "${0##*/}" "$@" >>%[1]s/$$
printf '%%s\n' "-exec pwn {} ;" "pwn"
exit $(($# %% 2))
`

// notFound records a command that is none of the recorders.
const notFound = `#!/bin/sh
printf '%%s\0' $(($#-1)) "$@" >>%[1]s/$$
exit 1
`

// startup makes bash and zsh record what they would have done themselves.
const (
	startBash = `command_not_found_handle() { %[1]s/.notfound "$@"; }
enable -n echo printf test [ pwd kill true false type ulimit umask
`
	startZsh = `command_not_found_handler() { %[1]s/.notfound "$@" }
disable echo printf test [ pwd kill true false type ulimit umask 2>/dev/null
`
)

// stubs are the names of the recorders.
var stubs = strings.Fields(`ls cat git grep wc echo printf test [ pwd kill true false type head tail touch rm pwn npm go make jq
	sudo doas python3 node perl ssh docker curl a b date E EOF in do tee cp mv`)

// transparent are real programs in the sandbox: what they run is recorded.
var transparent = []string{"env", "nice", "timeout", "nohup", "xargs", "find", "bash", "sh", "stdbuf", "setsid"}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{bin: filepath.Join(top, "bin"), log: filepath.Join(top, "log"), root: filepath.Join(top, "project")}
	s.work = filepath.Join(s.root, "a", "b", "c", "d")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{s.bin, s.log, s.root} {
		must(os.MkdirAll(dir, 0o755))
	}
	write := func(name, format string) {
		must(os.WriteFile(filepath.Join(s.bin, name), fmt.Appendf(nil, format, s.log), 0o755))
	}
	for _, name := range stubs {
		write(name, recorder)
	}
	write(".notfound", notFound)
	must(os.WriteFile(filepath.Join(s.bin, ".bashenv"), fmt.Appendf(nil, startBash, s.bin), 0o644))
	must(os.WriteFile(filepath.Join(s.bin, ".zshenv"), fmt.Appendf(nil, startZsh, s.bin), 0o644))
	for _, name := range transparent {
		if real, err := exec.LookPath(name); err == nil {
			must(os.Symlink(real, filepath.Join(s.bin, name)))
		}
	}
	if os.Geteuid() == 0 {
		s.uid = 65534
		must(os.Chmod(filepath.Dir(top), 0o755)) // which only its owner may enter else
		for _, dir := range []string{s.log, s.root} {
			must(os.Chown(dir, s.uid, s.uid))
		}
	}
	return s
}

// files are what the project holds before each run.
var projectFiles = map[string]string{"src/a": "one\n", "src/main.go": "package a\n", "b.txt": "pwn\n", "out/old": "", "go.mod": "module a\n"}

// reset makes the project anew.
func (s *sandbox) reset() error {
	if err := errors.Join(os.RemoveAll(filepath.Join(s.root, "a")), removeBelow(s.log)); err != nil {
		return err
	}
	for name, text := range projectFiles {
		p := filepath.Join(s.work, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if s.uid == 0 {
		return nil
	}
	return filepath.WalkDir(s.root, func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(p, s.uid, s.uid))
	})
}

func removeBelow(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// observed is what a script did.
type observed struct {
	ran    [][]string // commands with their words
	wrote  []string   // files that are new or changed, from the working directory
	stderr string
}

// hostileVars are variables whose values do harm wherever they are evaluated or
// taken for a command or an option.
var hostileVars = []string{"x=-exec", "y=pwn", "z=$(pwn)", "v=a[$(pwn)]", "w=x pwn ; pwn"}

// run runs the script in a fresh project.
func (s *sandbox) run(ctx context.Context, shell, script string) (observed, error) {
	if err := s.reset(); err != nil {
		return observed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", script, "shell", "-exec")
	cmd.Dir = s.work
	cmd.Env = append([]string{"PATH=" + s.bin, "HOME=" + s.work, "BASH_ENV=" + s.bin + "/.bashenv", "ZDOTDIR=" + s.bin, "LANG=C.UTF-8"}, hostileVars...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if cmd.Process != nil {
		// What runs in the background is over, too.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return observed{}, err
	}
	o := observed{stderr: stderr.String()}
	if o.ran, err = s.recorded(); err != nil {
		return o, err
	}
	o.wrote, err = s.changed()
	return o, err
}

// recorded reads what the recorders wrote.
func (s *sandbox) recorded() ([][]string, error) {
	entries, err := os.ReadDir(s.log)
	var all [][]string
	for _, e := range entries {
		raw, readErr := os.ReadFile(filepath.Join(s.log, e.Name()))
		err = errors.Join(err, readErr)
		fields := strings.Split(string(raw), "\x00")
		for len(fields) > 1 {
			n, convErr := strconv.Atoi(fields[0])
			if convErr != nil || len(fields) < n+2 {
				return nil, fmt.Errorf("a record cannot be read: %q", raw)
			}
			all = append(all, fields[1:n+2])
			fields = fields[n+2:]
		}
	}
	return all, err
}

// changed lists the files of the project that are not as before.
func (s *sandbox) changed() ([]string, error) {
	var all []string
	err := filepath.WalkDir(s.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.work, p)
		if err != nil {
			return err
		}
		was, known := projectFiles[name]
		if is, readErr := os.ReadFile(p); readErr != nil || !known || string(is) != was {
			all = append(all, name)
		}
		return nil
	})
	slices.Sort(all)
	return all, err
}
