// Package gitcmd is the only way in which Terret runs git, on git directories of its own
// and on the user's repositories: without the user's configuration and environment, and
// with every setting off that names a program or fetches something. The
// exceptions need the user's own git to sign in: cloning, and what a person does in
// internal/forge.
package gitcmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oldest git that ignores the user's configuration when it is told to
// (GIT_CONFIG_GLOBAL) and never follows a symbolic .gitignore.
const minMajor, minMinor = 2, 32

// killDelay bounds the wait for a git that was told to stop.
const killDelay = 2 * time.Second

// Find returns the path of the git program, or the reason why there is no usable one.
func Find(ctx context.Context) (bin, reason string, err error) {
	advice := fmt.Sprintf("install git %d.%d or later", minMajor, minMinor)
	bin, err = exec.LookPath("git")
	if err != nil {
		return "", "git is not installed; " + advice, nil
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, bin, "version")
	cmd.Env = baseEnv()
	cmd.WaitDelay = killDelay
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
		return "", fmt.Sprintf("git does not run (%v); %s", err, advice), nil
	}
	major, minor, ok := parseVersion(string(out))
	if !ok {
		return "", fmt.Sprintf("%q is not a git version; %s", bytes.TrimSpace(out), advice), nil
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return "", fmt.Sprintf("git %d.%d is too old; %s", major, minor, advice), nil
	}
	return bin, "", nil
}

// parseVersion reads "git version 2.39.5 (Apple Git-154)".
func parseVersion(out string) (major, minor int, ok bool) {
	text, ok := strings.CutPrefix(out, "git version ")
	parts := strings.SplitN(strings.TrimSpace(text), ".", 3)
	if !ok || len(parts) < 2 {
		return 0, 0, false
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	return major, minor, errMajor == nil && errMinor == nil
}

// safe are the settings of every command. They stand on the command line, where they
// override every file.
var safe = []string{
	// Settings that name a program.
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.pager=cat", "core.editor=false", "sequence.editor=false",
	"core.askPass=", "core.sshCommand=false", "core.gitProxy=", "core.alternateRefsCommand=", "credential.helper=",
	"diff.external=", "interactive.diffFilter=", "gpg.program=false", "log.showSignature=false",
	// Settings that fetch, or look elsewhere.
	"protocol.allow=never", "submodule.recurse=false", "safe.bareRepository=explicit",
	"core.attributesFile=" + os.DevNull, "core.excludesFile=" + os.DevNull, "diff.orderFile=" + os.DevNull,
	// Settings that change how things are listed, or when git tidies up.
	"core.quotePath=false", "diff.noprefix=false", "diff.mnemonicPrefix=false", "color.ui=false", "advice.detachedHead=false",
	"core.untrackedCache=false", "checkout.workers=1", "gc.auto=0", "maintenance.auto=false",
}

// exact are further settings for git directories of our own: what git stores is what is in
// the folder. In a user's repository their own values count.
var exact = []string{
	"core.autocrlf=false", "core.safecrlf=false", "core.eol=lf", "core.checkRoundtripEncoding=",
	"core.trustctime=true", "core.sparseCheckout=false",
	"diff.ignoreSubmodules=all", "diff.renames=false", "diff.algorithm=histogram",
	// How the index and objects are written.
	"core.splitIndex=false", "index.version=2", "index.sparse=false", "core.looseCompression=1", "pack.compression=1",
}

// baseEnv is the environment of every git: nothing of the user's except what the system
// needs to start a program.
func baseEnv() []string {
	env := []string{
		"LC_ALL=C", "LANGUAGE=",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=",
	}
	keep := []string{"PATH", "TMPDIR"}
	if runtime.GOOS == "windows" {
		keep = append(keep, "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP")
	}
	for _, k := range keep {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// Git runs commands on a git directory of Terret's own, or in a repository of the user's.
// What the configuration of either names, and safe does not list, counts: see Disarmed.
type Git struct {
	Bin     string   // the program, from Find
	Dir     string   // the git directory; empty means the user's repository that Cwd is in
	Work    string   // the work tree; with Dir only, as are Index and Objects
	Cwd     string   // the folder that commands run in, in the work tree
	Index   string   // the index file
	Objects string   // the objects folder; empty means that of Dir
	Config  []string // further settings as key=value, which override all others
	Env     []string // further variables
	Lock    *os.File // a lock that commands hold too while they run, on Unix; may be nil
	off     []pair   // settings with names that the repository has chosen
}

// pair is a setting for the environment. On the command line a name could not have a "=".
type pair struct{ key, value string }

// With returns a Git with more settings.
func (g Git) With(config ...string) Git {
	g.Config = append(slices.Clip(g.Config), config...)
	return g
}

// Command prepares a command. ctx bounds its life: it is asked to stop, and killed
// if it does not.
func (g Git) Command(ctx context.Context, args ...string) *exec.Cmd {
	lists := [][]string{safe, exact, g.Config}
	if g.Dir == "" {
		lists = [][]string{safe, g.Config}
	}
	var argv []string
	for _, kv := range slices.Concat(lists...) {
		argv = append(argv, "-c", kv)
	}
	cmd := exec.CommandContext(ctx, g.Bin, append(argv, args...)...)
	cmd.Dir = g.Cwd
	cmd.Env = append(withSettings(baseEnv(), g.off), "HOME="+cmp.Or(g.Dir, os.DevNull), "XDG_CONFIG_HOME="+cmp.Or(g.Dir, os.DevNull))
	if g.Dir != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+g.Dir, "GIT_WORK_TREE="+g.Work, "GIT_INDEX_FILE="+g.Index)
	}
	if g.Objects != "" {
		cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+g.Objects)
	}
	if args[0] != "check-ignore" { // it takes paths, and rejects the flag
		cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=1")
	}
	cmd.Env = append(cmd.Env, g.Env...)
	inherit(cmd, g.Lock)
	Polite(cmd)
	return cmd
}

// Polite makes the end of its context ask a git to stop, so that it removes its locks and
// temporary files, and kill it if it does not.
func Polite(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
}

// leads are the variables by which git works on something else than the folder, or takes
// paths for something else than they are. A git that runs a hook sets some.
var leads = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
	"GIT_QUARANTINE_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG", "GIT_ATTR_SOURCE",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
}

// Here is an environment with which the user's own git works on the repository of its folder,
// and on no other.
func Here(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(leads, strings.ToUpper(name))
	})
}

// UserConfig asks the user's own git "git config" with these arguments, in a folder. It
// reads settings and does nothing else. ok says that there is one.
func UserConfig(ctx context.Context, bin, dir string, args ...string) (value string, ok bool) {
	cmd := exec.CommandContext(ctx, bin, append([]string{"config"}, args...)...)
	cmd.Dir, cmd.WaitDelay, cmd.Env = dir, killDelay, Here(os.Environ())
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err == nil
}

// Output runs a command with in as its input and returns what it prints.
func (g Git) Output(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.Stream(ctx, bytes.NewReader(in), args, func(r *bufio.Reader) error {
		_, err := out.ReadFrom(r)
		return err
	})
	return out.Bytes(), err
}

// Records runs a command and passes each NUL-terminated record to each, which may keep
// it. An error of each ends the command and is returned, unless it is ErrEnough.
func (g Git) Records(ctx context.Context, in []byte, args []string, each func(record string) error) error {
	return g.Stream(ctx, bytes.NewReader(in), args, func(r *bufio.Reader) error {
		for {
			record, err := r.ReadString(0)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := each(record[:len(record)-1]); err != nil {
				return err
			}
		}
	})
}

// ErrEnough stops reading early, without an error.
var ErrEnough = errors.New("enough")

// Stream runs a command and passes its output to read. If read ends early, so does the
// command. The error is that of read, the cause of ctx, or an *Error.
func (g Git) Stream(ctx context.Context, in io.Reader, args []string, read func(*bufio.Reader) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := g.Command(running, args...)
	cmd.Stdin = in
	var stderr head
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run git %s: %w", args[0], err)
	}
	readErr := read(bufio.NewReaderSize(out, 64<<10))
	if readErr != nil {
		stop()
	}
	waitErr := cmd.Wait()
	switch {
	case readErr == nil && waitErr == nil, errors.Is(readErr, ErrEnough):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF):
		return readErr
	}
	return &Error{command: args[0], stderr: stderr.buf.String(), err: errors.Join(waitErr, readErr)}
}

// Error is a git command that failed by itself.
type Error struct {
	command string
	stderr  string
	err     error
}

// Error implements error.
func (e *Error) Error() string {
	stderr := strings.TrimSpace(e.stderr)
	if stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s (%v)", e.command, stderr, e.err)
}

// Unwrap returns how the process ended.
func (e *Error) Unwrap() error { return e.err }

// ExitCode returns the exit code of a git command that failed, or -1.
func ExitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// head keeps the first 4 KiB that are written to it.
type head struct{ buf bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4<<10 - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// JoinNUL makes the input of a command that takes NUL-terminated records.
func JoinNUL(records []string) []byte {
	var b bytes.Buffer
	for _, r := range records {
		b.WriteString(r)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// UserRemote asks the user's own git where a remote is. It reads settings and does nothing
// else. It is empty if there is no such remote.
func UserRemote(ctx context.Context, bin, dir, remote string) string {
	cmd := exec.CommandContext(ctx, bin, "ls-remote", "--get-url", "--", remote)
	cmd.Dir, cmd.WaitDelay, cmd.Env = dir, killDelay, Here(os.Environ())
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
