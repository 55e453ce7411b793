package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	abi "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Main is the helper's main function: it restricts the process and becomes the command.
// args is what follows the helper's own arguments. It never returns.
func Main(args []string) {
	// What a thread gives up, other threads keep; the command inherits from this one.
	runtime.LockOSThread()
	err := errors.New("only Terret can start this, not a person")
	if len(args) == 2 && args[0] == trial {
		err = breakOut(args[1])
	} else if len(args) >= 2 {
		var o order
		if err = json.Unmarshal([]byte(args[0]), &o); err == nil {
			err = o.exec(args[1:])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "terret: the command was not run: the sandbox failed:", err)
		os.Exit(126)
	}
	os.Exit(0)
}

// exec becomes the command, in the sandbox.
func (o order) exec(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	box := Box{Write: o.Write, Protect: o.Protect}
	if o.Bwrap != "" {
		args, err := bwrapArgs(box)
		if err != nil {
			return err
		}
		return syscall.Exec(o.Bwrap, append(append(args, "--", path), argv[1:]...), os.Environ()) // as it was ordered
	}
	if err := restrict(box); err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ()) // as it was ordered
}

// bwrapArgs are the arguments of bubblewrap. They include a file, which it inherits, with
// the filter of system calls.
func bwrapArgs(b Box) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("filter", 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "filter")
	if _, err := file.Write(encode(filter(true))); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, err
	}
	runtime.KeepAlive(file)
	args := []string{
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/",
	}
	for _, m := range b.mounts() {
		switch {
		case m.write:
			args = append(args, "--bind", m.path, m.path)
		case m.path == "/dev":
			args = append(args, "--dev", m.path)
		case m.path == "/proc": // root may write to its files without any privilege
			args = append(args, "--proc", m.path, "--remount-ro", m.path)
		default:
			args = append(args, "--ro-bind", m.path, m.path)
		}
	}
	return append(args, "--seccomp", strconv.Itoa(fd), "--chdir", dir), nil
}

// oldest is the oldest version of Landlock that holds: before it, any file could be
// truncated.
const oldest = 3

// restrict restricts this thread, and what it becomes.
func restrict(b Box) error {
	if version, err := abi.LandlockGetABIVersion(); err != nil || version < oldest {
		return errors.New("this kernel has no Landlock, or one that is too old; it needs Linux 6.2 or newer with landlock in /sys/kernel/security/lsm")
	}
	rules, err := readable()
	if err != nil {
		return err
	}
	rules = append(rules,
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").IgnoreIfMissing())
	for _, m := range b.mounts() {
		if m.write {
			rules = append(rules, landlock.RWDirs(m.path).WithRefer())
		}
	}
	if err := landlock.V9.BestEffort().RestrictPaths(rules...); err != nil {
		return err
	}
	if err := landlock.V9.BestEffort().RestrictScoped(); err != nil {
		return err
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	return load(filter(false))
}

// readable are the rules to list every folder, and to read every file but those of /dev:
// they are devices, and memory that programs share.
func readable() ([]landlock.Rule, error) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, err
	}
	rules := []landlock.Rule{landlock.PathAccess(abi.AccessFSReadDir, "/")}
	for _, e := range entries {
		switch path := "/" + e.Name(); {
		case path == "/dev":
		case e.IsDir():
			rules = append(rules, landlock.RODirs(path).IgnoreIfMissing())
		case e.Type().IsRegular():
			rules = append(rules, landlock.ROFiles(path).IgnoreIfMissing())
		}
	}
	return rules, nil
}

// dropPrivileges gives up what root may do, for good.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot give up privileges: %w", err)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // none are left below
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("cannot give up privileges: %w", err)
	}
	return nil
}

// breakOut tries what a sandbox must prevent, and says that it failed.
func breakOut(file string) error {
	for _, path := range []string{file, "/proc/self/comm", "/proc/sys/kernel/core_pattern"} {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			_ = f.Close()
			return fmt.Errorf("a command in it can write to %s", path)
		}
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		return errors.New("a command in it can reach the sockets of other programs")
	}
	if _, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_PROCESS_KEYRING, 1, 0, 0); err == nil {
		return errors.New("a command in it can reach the kernel's keyrings")
	}
	fmt.Println(held)
	return nil
}
