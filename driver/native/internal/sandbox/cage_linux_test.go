package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt reaches out of the sandbox. Each step runs in a process of its own, as the user
// who tries it.
type attempt struct {
	name string
	root bool                    // only root can do it at all
	make func() (string, error)  // makes outside what do is about, and names it; may be nil
	do   func(what string) error // an error if it was refused
	undo func(what string) error // may be nil
}

func attempts() []attempt {
	var out []attempt
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sys/fs/suid_dumpable", "/proc/sys/vm/overcommit_memory",
		"/sys/kernel/mm/ksm/sleep_millisecs", "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan", "/sys/module/printk/parameters/time",
	} {
		out = append(out, attempt{name: "write " + path, root: true, do: func(string) error { return rewrite(path) }})
	}
	for _, path := range []string{"/proc/self/oom_score_adj", "/proc/self/coredump_filter", "/proc/self/comm"} {
		out = append(out, attempt{name: "write " + path, do: func(string) error { return rewrite(path) }})
	}
	for name, resource := range map[string]int{"files": unix.RLIMIT_NOFILE, "processor time": unix.RLIMIT_CPU} {
		do := func(what string) error { return relimit(number(what), resource) }
		out = append(out, attempt{name: "limit the " + name + " of a process", make: sleeper, do: do, undo: endSleeper})
	}
	out = append(out, systemV("shared memory", unix.SYS_SHMGET, unix.SYS_SHMCTL, 4096, func(id uintptr) error {
		return call(unix.SYS_SHMAT, id, 0, unix.SHM_RDONLY)
	})...)
	out = append(out, systemV("messages", unix.SYS_MSGGET, unix.SYS_MSGCTL, 0, func(id uintptr) error {
		message := [2]int64{1, 1} // its type and its text
		return call(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&message)), 8)
	})...)
	out = append(out, systemV("semaphores", unix.SYS_SEMGET, unix.SYS_SEMCTL, 1, func(id uintptr) error {
		up := [3]int16{0, 1, 0} // the first one, by one
		return call(unix.SYS_SEMOP, id, uintptr(unsafe.Pointer(&up)), 1)
	})...)
	out = append(out,
		attempt{name: "open a POSIX queue", make: makeQueue, do: openQueue, undo: dropQueue},
		attempt{name: "remove a POSIX queue", make: makeQueue, do: dropQueue, undo: dropQueue},
		attempt{name: "read POSIX memory", make: makeMemory, do: read, undo: os.Remove},
		attempt{name: "write POSIX memory", make: makeMemory, do: rewrite, undo: os.Remove},
		attempt{name: "remove POSIX memory", make: makeMemory, do: os.Remove, undo: os.Remove},
		attempt{name: "add a key", do: addOneKey},
		attempt{name: "find a key", make: makeKey, do: findKey, undo: dropKey},
		attempt{name: "request a key", make: makeKey, do: requestKey, undo: dropKey},
		attempt{name: "read a key", make: makeKey, do: readKey, undo: dropKey},
		attempt{name: "start a process in a user namespace", do: cloneUser},
		attempt{name: "go to a user namespace", do: func(string) error { return exec.Command("unshare", "-U", "true").Run() }},
		attempt{name: "ask clone3", do: clone3},
	)
	return out
}

// step is what the test binary does as an attempt: step, name and what it is about.
func step(args []string) error {
	for _, a := range attempts() {
		if a.name != args[1] {
			continue
		}
		switch args[0] {
		case "make":
			what, err := a.make()
			fmt.Println(what)
			return err
		case "do":
			return a.do(args[2])
		case "undo":
			return a.undo(args[2])
		}
	}
	return errors.New("there is no such step")
}

// TestReachesNobody sees each attempt work without the sandbox, and then fail in it.
func TestReachesNobody(t *testing.T) {
	users := []int{os.Getuid()}
	const nobody = 65534
	if os.Getuid() == 0 {
		users = append(users, nobody)
	} else {
		t.Log("not root: kernel settings are not tried, and only this user is")
	}
	binary := publicBinary(t)
	each(t, func(t *testing.T, p place) {
		for _, uid := range users {
			for _, a := range attempts() {
				if a.root && uid != 0 {
					continue
				}
				t.Run(fmt.Sprintf("uid %d/%s", uid, a.name), func(t *testing.T) {
					outside := func(argv []string) []string { return argv }
					if said, code := a.try(t, binary, uid, outside); code != 0 {
						t.Skipf("it does not work without the sandbox either: %s", said)
					}
					said, code := a.try(t, binary, uid, func(argv []string) []string {
						wrapped, err := p.runner.Wrap(Box{}, argv)
						if err != nil {
							t.Fatal(err)
						}
						wrapped[0] = binary // this one may not be reached by others
						return wrapped
					})
					if code != refusedExit {
						t.Errorf("exit status %d: %s", code, said)
					}
				})
			}
		}
	})
}

// TestSharedMemoryOfItsOwn is what a command has in the place of everybody's.
func TestSharedMemoryOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		name, _ := p.runner.Mechanism()
		what := fmt.Sprintf("/dev/shm/terret-test-own-%s-%d", name, os.Getpid()) // both run at once
		said, err := p.sh(t, `echo mine > "$1" && cat "$1"`, what)
		if name == Landlock {
			if err == nil || !strings.Contains(said, "Permission denied") {
				t.Errorf("%v: %s", err, said)
			}
		} else if said != "mine\n" {
			t.Errorf("%v: %s", err, said)
		}
		if err := read(what); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is there outside: %v", err)
		}
		p.box.Write = append(p.box.Write, "/dev/shm") // on purpose
		said, err = p.sh(t, `echo mine > "$1"`, what)
		if err := errors.Join(err, os.Remove(what)); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
}

// TestProjectAroundTheKernel has a project that holds the kernel's folders.
func TestProjectAroundTheKernel(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		p.box.Write = []string{"/", "/proc/self", "/sys/kernel"}
		if name, _ := p.runner.Mechanism(); name == Landlock {
			if _, err := p.runner.Wrap(p.box, []string{"true"}); err == nil || !strings.Contains(err.Error(), "work in another folder") {
				t.Errorf("error %v", err)
			}
			return
		}
		said, err := p.sh(t, `cd "$1" && echo fine > file && cat file && ! echo x > /proc/self/comm && ! mkdir /sys/kernel/x && ! ls /dev/mem`, p.outside)
		if err != nil || !strings.HasPrefix(said, "fine\n") || strings.Count(said, "Read-only file system") != 2 {
			t.Errorf("%v: %s", err, said)
		}
	})
}

// TestOrdinary are things that commands do with /dev and /proc.
func TestOrdinary(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		for _, text := range []string{
			`echo x | cat /dev/stdin`, `echo x > file && cat /dev/stdin < file`, `echo x > /dev/stdout`, `echo x | tee /dev/stderr 2>&1 > /dev/null`,
			`bash -c 'cat <(echo x)'`, `head -c 3 /dev/urandom > /dev/null && echo x`, `ls / /dev /proc/self > /dev/null && echo x`,
			`ulimit -n 100 && ulimit -c 0 && echo x`, `nice true && echo x`, `(sleep 0.01 & wait) && echo x`,
		} {
			if said, err := p.sh(t, text); err != nil || said != "x\n" {
				t.Errorf("%s: %v: %s", text, err, said)
			}
		}
	})
}

// try makes the attempt with arguments changed like this, and returns what it says and its
// exit status.
func (a attempt) try(t *testing.T, binary string, uid int, change func(argv []string) []string) (string, int) {
	t.Helper()
	run := func(argv []string) (string, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "GORACE=atexit_sleep_ms=0") // it would sleep for a second each time
		if uid != os.Getuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	what := ""
	if a.make != nil {
		said, err := run([]string{binary, attemptArg, "make", a.name})
		if err != nil {
			return said, -1
		}
		what = said
	}
	if a.undo != nil {
		defer func() { _, _ = run([]string{binary, attemptArg, "undo", a.name, what}) }()
	}
	said, err := run(change([]string{binary, attemptArg, "do", a.name, what}))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return said, exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return said, 0
}

// publicBinary is a copy of the test binary that every user may run.
func publicBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "test")
	content, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.WriteFile(path, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

// rewrite writes the present content of a file into it, so that nothing changes.
func rewrite(path string) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, "coredump_filter") {
		now = append([]byte("0x"), now...) // it is read in another way than it is written
	}
	_, err = f.Write(now)
	return errors.Join(err, f.Close())
}

// relimit gives another process a limit of this one, which it has anyway.
func relimit(pid uintptr, resource int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(int(pid), resource, &now, nil)
}

func sleeper() (string, error) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

func endSleeper(what string) error { return syscall.Kill(int(number(what)), syscall.SIGKILL) }

// number is the first number of a name.
func number(what string) uintptr {
	first, _, _ := strings.Cut(what, " ")
	n, err := strconv.Atoi(first)
	if err != nil {
		panic(err) // a step printed it
	}
	return uintptr(n)
}

func call(nr, a, b, c uintptr) error {
	_, _, errno := unix.Syscall6(nr, a, b, c, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// systemV are attempts on one kind of object of System V: its key leads to it, its id uses
// and removes it.
func systemV(name string, get, control, size uintptr, use func(id uintptr) error) []attempt {
	find := func(key, flags uintptr) (uintptr, error) {
		args := [2]uintptr{size, flags}
		if size == 0 {
			args[0] = flags // messages have no size
		}
		id, _, errno := unix.Syscall(get, key, args[0], args[1])
		if errno != 0 {
			return 0, errno
		}
		return id, nil
	}
	create := func() (string, error) {
		key := uintptr(os.Getpid())
		id, err := find(key, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
		return fmt.Sprint(id, " ", key), err
	}
	remove := func(what string) error {
		if control == unix.SYS_SEMCTL {
			return call(control, number(what), 0, unix.IPC_RMID)
		}
		return call(control, number(what), unix.IPC_RMID, 0)
	}
	return []attempt{
		{name: "find " + name, make: create, undo: remove, do: func(what string) error {
			_, key, _ := strings.Cut(what, " ")
			_, err := find(number(key), 0)
			return err
		}},
		{name: "use " + name, make: create, undo: remove, do: func(what string) error { return use(number(what)) }},
		{name: "remove " + name, make: create, do: remove, undo: remove},
	}
}

func makeQueue() (string, error) {
	name := "terret-test-" + strconv.Itoa(os.Getpid())
	return name, queue(unix.SYS_MQ_OPEN, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}

func openQueue(name string) error { return queue(unix.SYS_MQ_OPEN, name, unix.O_RDWR) }

func dropQueue(name string) error { return queue(unix.SYS_MQ_UNLINK, name, 0) }

func queue(nr uintptr, name string, flags uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return call(nr, uintptr(unsafe.Pointer(p)), flags, 0o600)
}

func makeMemory() (string, error) {
	f, err := os.CreateTemp("/dev/shm", "terret-test-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, bytes.NewReader([]byte("secret")))
	return f.Name(), errors.Join(err, f.Close())
}

// makeKey makes a key that every process of its user may use, and names it by its number
// and its own name.
func makeKey() (string, error) {
	name := "terret-test-" + strconv.Itoa(os.Getpid())
	id, err := unix.AddKey("user", name, []byte("secret"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return "", err
	}
	const everything = 0x3f3f0000
	return fmt.Sprint(id, " ", name), unix.KeyctlSetperm(id, everything)
}

func addOneKey(string) error {
	what, err := makeKey()
	if err != nil {
		return err
	}
	return dropKey(what)
}

func findKey(what string) error {
	_, name, _ := strings.Cut(what, " ")
	_, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", name, 0)
	return err
}

func requestKey(what string) error {
	_, name, _ := strings.Cut(what, " ")
	_, err := unix.RequestKey("user", name, "", 0)
	return err
}

func readKey(what string) error {
	_, err := unix.KeyctlBuffer(unix.KEYCTL_READ, int(number(what)), make([]byte, 8), 0)
	return err
}

func dropKey(what string) error {
	_, err := unix.KeyctlInt(unix.KEYCTL_UNLINK, int(number(what)), unix.KEY_SPEC_USER_KEYRING, 0, 0)
	return err
}

func cloneUser(string) error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// clone3 asks for nothing, which is another error than that it is not there.
func clone3(string) error {
	if err := call(unix.SYS_CLONE3, 0, 0, 0); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
