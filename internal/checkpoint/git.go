package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// The oldest git that ignores the user's configuration when it is told to
// (GIT_CONFIG_GLOBAL) and never follows a symbolic .gitignore.
const minMajor, minMinor = 2, 32

var versionRE = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// findGit returns the git program, or the reason why there is none to use.
func findGit(ctx context.Context) (bin, reason string, err error) {
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
	m := versionRE.FindSubmatch(out)
	if m == nil {
		return "", fmt.Sprintf("%q is no git version; %s", bytes.TrimSpace(out), advice), nil
	}
	major, _ := strconv.Atoi(string(m[1])) // digits
	minor, _ := strconv.Atoi(string(m[2]))
	if major < minMajor || major == minMajor && minor < minMinor {
		return "", fmt.Sprintf("git %d.%d is too old; %s", major, minor, advice), nil
	}
	return bin, "", nil
}

// killDelay bounds the wait for a git that was told to stop.
const killDelay = 2 * time.Second

// config is given to every command, on the command line, where it beats every
// file. It holds all settings that name a program or change content.
var config = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.untrackedCache=false",
	"core.autocrlf=false", "core.safecrlf=false", "core.eol=lf", "core.checkRoundtripEncoding=",
	"core.attributesFile=" + os.DevNull, "core.excludesFile=" + os.DevNull,
	"core.quotePath=false", "core.precomposeUnicode=false", "core.trustctime=true",
	"core.splitIndex=false", "core.sparseCheckout=false", "core.alternateRefsCommand=",
	"core.looseCompression=1", "pack.compression=1", "index.version=2", "index.sparse=false",
	"diff.external=", "diff.ignoreSubmodules=all", "diff.renames=false", "diff.noprefix=false",
	"diff.mnemonicPrefix=false", "diff.algorithm=histogram", "diff.orderFile=",
	"submodule.recurse=false", "protocol.allow=never", "credential.helper=",
	"gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false", "color.ui=false", "core.pager=cat",
}

// baseEnv is the environment of every git: nothing of the user's but what the
// system needs to start a program.
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

// git runs git commands on the shadow repository.
type git struct {
	repo  *Repo
	work  string   // work tree; the folder unless said otherwise
	cwd   string   // current folder of the command, in the work tree
	index string   // index file
	lock  *os.File // held lock, inherited by the commands; nil outside of it
}

func (r *Repo) git(lock *os.File) git {
	return git{repo: r, work: r.dir, cwd: r.dir, index: filepath.Join(r.shadow, "index"), lock: lock}
}

// command prepares a git command. ctx bounds its life: it is asked to stop, and
// killed if it does not.
func (g git) command(ctx context.Context, conf []string, args ...string) *exec.Cmd {
	argv := make([]string, 0, 2*(len(config)+len(g.repo.conf)+len(conf))+len(args))
	for _, list := range [][]string{config, g.repo.conf, conf} {
		for _, kv := range list {
			argv = append(argv, "-c", kv)
		}
	}
	cmd := exec.CommandContext(ctx, g.repo.bin, append(argv, args...)...)
	cmd.Dir = g.cwd
	cmd.Env = append(baseEnv(), "HOME="+g.repo.shadow, "XDG_CONFIG_HOME="+g.repo.shadow,
		"GIT_DIR="+g.repo.shadow, "GIT_WORK_TREE="+g.work, "GIT_INDEX_FILE="+g.index)
	if args[0] != "check-ignore" { // which takes paths, and refuses to be told so
		cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=1")
	}
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
	inherit(cmd, g.lock)
	return cmd
}

// output runs a command with in as its input and returns what it prints.
func (g git) output(ctx context.Context, in []byte, conf []string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.stream(ctx, bytes.NewReader(in), conf, args, func(r io.Reader) error {
		_, err := out.ReadFrom(r)
		return err
	})
	return out.Bytes(), err
}

// records runs a command and gives each of the NUL-terminated records that it
// prints to f, which may keep them. An error of f ends the command.
func (g git) records(ctx context.Context, in []byte, args []string, f func(rec string) error) error {
	return g.stream(ctx, bytes.NewReader(in), nil, args, func(r io.Reader) error {
		b := bufio.NewReaderSize(r, 64<<10)
		for {
			rec, err := b.ReadString(0)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := f(rec[:len(rec)-1]); err != nil {
				return err
			}
		}
	})
}

// stream runs a command and gives its output to read. When read ends early the
// command is ended too.
func (g git) stream(ctx context.Context, in io.Reader, conf, args []string, read func(io.Reader) error) error {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.command(runCtx, conf, args...)
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
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	switch {
	case readErr == nil && waitErr == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF):
		return readErr
	}
	return &gitError{command: args[0], stderr: strings.TrimSpace(stderr.buf.String()), err: errors.Join(waitErr, readErr)}
}

// gitError is a git command that failed by itself.
type gitError struct {
	command string
	stderr  string
	err     error
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s (%v)", e.command, e.stderr, e.err)
}

func (e *gitError) Unwrap() error { return e.err }

// exitCode returns the exit code of a git command that failed, or -1.
func exitCode(err error) int {
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

// joinNUL makes the -z input of a command.
func joinNUL(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.Bytes()
}
