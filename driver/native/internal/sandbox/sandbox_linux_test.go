package sandbox

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// runners are those for each mechanism that must work here. Landlock always must: a
// kernel without it cannot run this test. Bubblewrap must if it can do anything here: in
// many containers it is installed and cannot.
func runners(t *testing.T) map[string]*Runner {
	t.Helper()
	helper := []string{os.Args[0], helperArg}
	out := map[string]*Runner{Landlock: New(helper, nil)}
	if said, err := exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--bind", "/", "/", "true").CombinedOutput(); err == nil {
		out[Bubblewrap] = New(helper, os.Environ())
	} else {
		t.Logf("bubblewrap does not work here: only Landlock is tested: %v: %s", err, said)
	}
	for want, r := range out {
		got, err := r.Mechanism()
		if err != nil || got != want {
			t.Fatalf("mechanism %q, error %v; want %s", got, err, want)
		}
	}
	return out
}

// place is a project beside a folder that does not belong to it.
type place struct {
	project, outside string
	box              Box
	runner           *Runner
}

// each runs a test in every mechanism.
func each(t *testing.T, test func(t *testing.T, p place)) {
	t.Parallel()
	for name, r := range runners(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := place{project: t.TempDir(), outside: t.TempDir(), runner: r}
			p.box = Box{Write: []string{p.project}}
			test(t, p)
		})
	}
}

// sh runs a command in the sandbox, and returns what it says and how it ends.
func (p place) sh(t *testing.T, text string, args ...string) (string, error) {
	t.Helper()
	argv, err := p.runner.Wrap(p.box, append([]string{"/bin/sh", "-c", text, "sh"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = p.project
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestWritesOnlyInside(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		keep := filepath.Join(p.outside, "keep")
		if err := os.WriteFile(keep, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p.outside, filepath.Join(p.project, "way-out")); err != nil {
			t.Fatal(err)
		}
		if out, err := p.sh(t, `mkdir a && echo one > a/b && mv a/b c && rm -r a && cat c "$1" && pwd`, keep); err != nil || out != "one\nkept"+p.project+"\n" {
			t.Errorf("inside: %v: %s", err, out)
		}
		for _, text := range []string{
			`echo x > "$1/new"`, `echo x > "$1/keep"`, `: > "$1/keep"`, `truncate -s 0 "$1/keep"`, `rm "$1/keep"`, `mv "$1/keep" .`,
			`ln "$1/keep" here && echo x > here`, `mkdir "$1/dir"`, `mv c "$1/c"`, `echo x > way-out/new`, `rm way-out/keep`,
			`ln -s "$1" other && echo x > other/new`, `cd "$1" && touch new`, `touch /etc/terret-test`, `echo x > /proc/$PPID/comm`,
			`echo x > "/proc/self/cwd/../$(basename "$1")/new"`,
		} {
			if out, err := p.sh(t, text, p.outside); err == nil {
				t.Errorf("%s: it worked: %s", text, out)
			}
		}
		left, err := os.ReadDir(p.outside)
		if content, readErr := os.ReadFile(keep); err != nil || readErr != nil || string(content) != "kept" || len(left) != 1 {
			t.Errorf("outside there is now %v, with %q (%v, %v)", left, content, err, readErr)
		}
		if _, err := os.Stat("/etc/terret-test"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("/etc/terret-test is there: %v", err)
		}
	})
}

func TestProtected(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		data := filepath.Join(p.project, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		p.box.Protect = []string{data}
		if name, _ := p.runner.Mechanism(); name == Landlock {
			if _, err := p.runner.Wrap(p.box, []string{"true"}); err == nil || !strings.Contains(err.Error(), "install bubblewrap") {
				t.Errorf("error %v", err)
			}
			return
		}
		if out, err := p.sh(t, "echo x > new && echo x > data/x"); err == nil {
			t.Errorf("it worked: %s", out)
		}
		if _, err := os.Stat(filepath.Join(p.project, "new")); err != nil {
			t.Error(err)
		}
	})
}

func TestNoNetwork(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		tcp := listener(t, "tcp", "127.0.0.1:0")
		local := listener(t, "unix", filepath.Join(p.project, "socket"))
		udp, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = udp.Close() })
		for _, to := range []string{"tcp " + tcp.Addr().String(), "udp " + udp.LocalAddr().String(), "udp 192.0.2.1:53", "unix " + local.Addr().String(), "unix @terret-test"} {
			argv, err := p.runner.Wrap(p.box, append([]string{os.Args[0], dialArg}, strings.Fields(to)...))
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
			if !strings.HasPrefix(string(out), "no way out\n") {
				t.Errorf("%s: %v: %s", to, err, out)
			}
		}
	})
}

func listener(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestOutOfReach tries to get at other processes.
func TestOutOfReach(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		victim := exec.CommandContext(t.Context(), "sleep", "60")
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = victim.Wait() }()
		defer func() { _ = victim.Process.Kill() }()
		pid := strconv.Itoa(victim.Process.Pid)
		if out, err := p.sh(t, `kill -TERM "$1"`, pid); err == nil {
			t.Errorf("it killed a process outside: %s", out)
		}
		if out, err := p.sh(t, `: < "/proc/$1/environ"`, pid); err == nil {
			t.Errorf("it read the environment of a process outside: %s", out)
		}
		if out, err := p.sh(t, `grep -E '^Cap(Prm|Eff|Inh|Amb):.*[1-9a-f]' /proc/self/status`); err == nil {
			t.Errorf("there are privileges left:\n%s", out)
		}
		if out, err := p.sh(t, `unshare -Urm sh -c 'mount -o remount,bind,rw /; umount -l "$1"; touch "$1/new"' sh "$1"`, p.outside); err == nil {
			t.Errorf("it wrote from a namespace of its own: %s", out)
		}
	})
}

func TestExitAndPipes(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		out, err := p.sh(t, "cat; echo out; echo err >&2; exit 7")
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 7 || out != "out\nerr\n" {
			t.Errorf("%v: %q", err, out)
		}
	})
}

func TestNoMechanism(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		helper []string
		want   []string
	}{
		{nil, []string{"this program has no sandbox", "start the session without it"}},
		{[]string{"/bin/false"}, []string{"install bubblewrap", "bubblewrap does not work here", "Landlock does not work here"}},
		{[]string{"/bin/echo"}, []string{"it was tried out, and said"}}, // restricts nothing
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil { // a program
			t.Fatal(err)
		}
		r := New(c.helper, []string{"PATH=relative:" + dir})
		_, err := r.Wrap(Box{}, []string{"true"})
		if err == nil {
			t.Fatalf("helper %v: there is a sandbox", c.helper)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v does not say %q", err, w)
			}
		}
	}
}

// TestMissingBubblewrap has the next best.
func TestMissingBubblewrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil { // a program
		t.Fatal(err)
	}
	if got, err := New([]string{os.Args[0], helperArg}, []string{"PATH=" + dir}).Mechanism(); err != nil || got != Landlock {
		t.Errorf("%q, %v", got, err)
	}
}

// A mechanism that failed because the machine was short of something is tried again; one
// that does not work here is not.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails string // how the mechanism does, the first time
		again bool
	}{
		"short of processes": {"echo 'bwrap: Creating new namespace failed: Resource temporarily unavailable' >&2; exit 1", true},
		"killed":             {"kill -9 $$", true},
		"forbidden":          {"echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := func(name, then string) string {
				path, been := filepath.Join(dir, name), filepath.Join(dir, name+".been")
				text := "#!/bin/sh\nif ! [ -e " + been + " ]; then : > " + been + "; " + c.fails + "; fi\n" + then + "\n"
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
				return path
			}
			r := New([]string{script("helper", "exec "+os.Args[0]+" "+helperArg+` "$@"`)}, nil)
			if got, err := r.Mechanism(); err == nil {
				t.Errorf("the first time, %s works", got)
			}
			if got, err := r.Mechanism(); (err == nil) != c.again {
				t.Errorf("the second time: %q, %v", got, err)
			}
			script("bwrap", "echo "+held) // Landlock does in the meantime
			r = New([]string{os.Args[0], helperArg}, []string{"PATH=" + dir})
			want := map[bool]string{true: Bubblewrap, false: Landlock}
			for _, again := range []bool{false, c.again} {
				if got, err := r.Mechanism(); err != nil || got != want[again] {
					t.Errorf("mechanism %q, error %v; want %s", got, err, want[again])
				}
			}
		})
	}
}
