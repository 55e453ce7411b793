package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/lockfile"
)

// minMajor and minMinor are the oldest git that ignores the user's configuration when
// it is told to (GIT_CONFIG_GLOBAL).
const minMajor, minMinor = 2, 32

var versionRE = lazyregexp.New(`^git version (\d+)\.(\d+)`)

// killDelay bounds the wait for a git that was told to stop.
const killDelay = 2 * time.Second

// settings are passed to every command, where they override those of the repository.
// They cover everything that names a program.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.untrackedCache=false", "core.alternateRefsCommand=",
	"core.attributesFile=" + os.DevNull, "core.quotePath=false", "core.pager=cat",
	"core.sshCommand=false", "core.gitProxy=", "diff.external=", "protocol.allow=never", "credential.helper=",
	"submodule.recurse=false", "gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false", "color.ui=false",
	"gpg.program=false", "checkout.workers=1",
}

// git runs git commands in a folder of the user's.
type git struct {
	bin, dir string
	env      []string // besides the usual
	off      []string // variables that disable filters which the repository names, and other settings
	in       []byte   // the input of commands
	ignores  string   // the file of what the user's git ignores everywhere
}

// open finds git, and what it must not run in that folder.
func open(ctx context.Context, dir string) (*git, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("git is not installed; install git %d.%d or later", minMajor, minMinor)
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	g := &git{bin: bin, dir: dir}
	version, err := g.run(ctx, "version")
	if err != nil {
		return nil, err
	}
	m := versionRE.FindStringSubmatch(version)
	if m == nil {
		return nil, fmt.Errorf("%q is not a git version", version)
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2])
	if major < minMajor || major == minMajor && minor < minMinor {
		return nil, fmt.Errorf("git %d.%d is too old; install git %d.%d or later", major, minor, minMajor, minMinor)
	}
	g.ignores = g.usersIgnores(ctx)
	return g, nil
}

// usersIgnores finds the file in which the user says what git ignores in every repository:
// it may be there to keep secrets out. The repository has no say in it.
func (g *git) usersIgnores(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, g.bin, "config", "--global", "--includes", "--type=path", "--get", "core.excludesFile")
	cmd.Dir = g.dir
	out, err := cmd.Output()
	if file := strings.TrimSuffix(string(out), "\n"); err == nil && file != "" {
		return file
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return os.DevNull
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "git", "ignore")
}

// mergeFile does what git does to files that no merge driver is for.
const mergeFile = "git merge-file --quiet --marker-size=%L %A %O %B"

// disarm finds and disables the file filters and merge drivers that the configuration of
// the repository names, or that of one inside of it.
func (g *git) disarm(ctx context.Context) error {
	if err := g.disarmOwn(ctx); err != nil {
		return err
	}
	return g.disarmNested(ctx)
}

func (g *git) disarmOwn(ctx context.Context) error {
	out, err := g.run(ctx, "config", "--includes", "--null", "--name-only", "--get-regexp", `^filter\.|^merge\..*\.driver$`)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil // there is none
	}
	if err != nil {
		return err
	}
	for key := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		name := key[:strings.LastIndex(key, ".")]
		values := map[string]string{"smudge": "", "clean": "", "process": "", "required": "false"}
		if strings.HasPrefix(key, "merge.") {
			values = map[string]string{"driver": mergeFile}
		}
		for variable, value := range values {
			n := len(g.off) / 2
			g.off = append(g.off, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s.%s", n, name, variable), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		}
	}
	return nil
}

// run runs a command and returns what it prints, without the last line's end.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	cmd := g.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(g.in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", failed(ctx, args[0], said.String(), err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// command prepares a command that has no input and no output yet.
func (g *git) command(ctx context.Context, args ...string) *exec.Cmd {
	var argv []string
	for _, kv := range append([]string{"core.excludesFile=" + g.ignores}, settings...) {
		argv = append(argv, "-c", kv)
	}
	cmd := exec.CommandContext(ctx, g.bin, append(argv, args...)...)
	cmd.Dir, cmd.Env = g.dir, append(environ(), fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(g.off)/2))
	cmd.Env = append(append(cmd.Env, g.off...), g.env...)
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
	return cmd
}

// failed is the error of a command that said that.
func failed(ctx context.Context, command, said string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	why := strings.TrimSpace(said)
	if len(why) > 2000 {
		why = why[:2000]
	}
	return fmt.Errorf("git %s: %s (%w)", command, why, err)
}

// environ is the environment of every git: nothing of the user's except what the system
// needs to start a program.
func environ() []string {
	env := []string{
		"LC_ALL=C", "LANGUAGE=", "HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=", "GIT_LITERAL_PATHSPECS=1",
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

// alone waits until nobody else of us changes the repository's list of worktrees, and
// keeps others from it until release is called: git itself fails when it reads about a
// worktree that another git is just making.
func (g *git) alone(ctx context.Context) (release func(), err error) {
	common, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.FromSlash(common))
	if err != nil {
		return nil, err
	}
	if err := lockfile.Lock(ctx, dir); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return func() { _ = dir.Close() }, nil
}
