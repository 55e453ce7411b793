package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/cmd/terret/internal/service"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/server/config"
)

func newService(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "service", Short: "Run the server in the background, as a service of yours", Args: exactArgs(),
		Long: "Run `terret serve` as a service of your own account: a user unit of systemd on Linux, an\n" +
			"agent of launchd on macOS. Nothing here needs root.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var show, linger bool
	install := &cobra.Command{
		Use: "install [-- FLAGS OF SERVE]", Short: "Install the service, or bring it up to date, and start it",
		Long: "Install the service, or bring it up to date, and start it.\n\n" +
			"It runs this program, with the flags of `terret serve` behind --, in this folder. It sees\n" +
			"your PATH as it is now, so that it finds your agents, and TERRET_HOME, but no keys: keep\n" +
			"those with `terret keys`, and the address of a fleet in the configuration.",
		Example: "  terret service install -- --root ~/src\n  terret service install --linger\n  terret service install --print",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installService(cmd.Context(), cmd.Root(), args, show, linger)
		},
	}
	install.Flags().BoolVar(&show, "print", false, "print what would be installed, and do nothing")
	install.Flags().BoolVar(&linger, "linger", false, "keep it running while you are logged out, and start it with the machine (systemd)")
	var follow bool
	var lines int
	logs := &cobra.Command{Use: "logs", Short: "Print what the service has said", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return a.serviceLogs(cmd.Context(), lines, follow)
	}}
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	logs.Flags().IntVarP(&lines, "lines", "n", 100, "how many lines")
	cmd.AddCommand(install, logs,
		&cobra.Command{Use: "uninstall", Short: "Stop the service and remove it; sessions stay", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
			return a.uninstallService(cmd.Context())
		}},
		&cobra.Command{Use: "status", Short: "Show whether the service runs", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serviceStatus(cmd.Context())
		}},
	)
	return cmd
}

// serviceFile is where the unit or the agent is.
func (a *app) serviceFile() (string, error) {
	home := a.getenv("HOME")
	if home == "" {
		return "", terret.Errorf(terret.CodeUnsupported, "HOME is not set, so there is nowhere to install a service")
	}
	switch runtime.GOOS {
	case "linux":
		dir := a.getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(home, ".config")
		}
		return filepath.Join(dir, "systemd", "user", service.UnitName), nil
	case "darwin":
		return filepath.Join(home, "Library", "LaunchAgents", service.AgentName+".plist"), nil
	default:
		return "", terret.Errorf(terret.CodeUnsupported, "there are services for Linux (systemd) and macOS (launchd) only; let your system run `terret serve`")
	}
}

// serviceSpec is what the service runs.
func (a *app) serviceSpec(root *cobra.Command, args []string) (service.Spec, error) {
	if a.store != "" || a.getenv("TERRET_STORE") != "" {
		return service.Spec{}, terret.Invalid("store", "a service does not see --store and TERRET_STORE, since its file is no place for a password; set the key store in %s, and leave them out", config.UserFile(a.environ))
	}
	serve, _, err := root.Find([]string{"serve"})
	if err == nil {
		err = serve.ParseFlags(args)
	}
	if err == nil {
		err = exactArgs()(serve, serve.Flags().Args())
	}
	if err != nil {
		return service.Spec{}, terret.Invalid("arguments", "%w; behind -- stand flags of `terret serve`", err)
	}
	program, err := programPath()
	if err != nil {
		return service.Spec{}, terret.Errorf(terret.CodeInternal, "cannot tell which program this is: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return service.Spec{}, terret.Invalid("cwd", "%w", err)
	}
	data := a.home()
	if data, err = filepath.Abs(data); err != nil {
		return service.Spec{}, terret.Invalid("data", "%w", err)
	}
	s := service.Spec{
		Program: program, Args: append([]string{"serve"}, args...), Dir: dir,
		Env: []string{"PATH=" + a.getenv("PATH")}, Log: filepath.Join(data, "service.log"),
	}
	if a.dataGiven || a.data != "" || a.getenv("TERRET_HOME") != "" {
		s.Env = append(s.Env, "TERRET_HOME="+data)
	}
	return s, nil
}

// programPath is where this program is: by the name in the PATH, if that leads to it, since
// what it leads to may have a version in its name.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath("terret")
	if err != nil || !filepath.IsAbs(found) {
		return self, nil //nolint:nilerr // it is somewhere else, then
	}
	if resolved, err := filepath.EvalSymlinks(found); err != nil || resolved != self {
		return self, nil //nolint:nilerr // as above
	}
	return found, nil
}

func (a *app) installService(ctx context.Context, root *cobra.Command, args []string, show, linger bool) error {
	file, err := a.serviceFile()
	if err != nil {
		return err
	}
	spec, err := a.serviceSpec(root, args)
	if err != nil {
		return err
	}
	write := service.Unit
	if runtime.GOOS == "darwin" {
		write = service.Agent
	}
	content, err := write(spec)
	if err != nil {
		return terret.Invalid("arguments", "%w", err)
	}
	if show {
		_, err := fmt.Fprint(a.out, content)
		return err
	}
	if err := a.manager(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as others that systemd reads
		return terret.Errorf(terret.CodeInternal, "cannot install the service: %w", err)
	}
	if err := files.Write(file, []byte(content)); err != nil {
		return terret.Errorf(terret.CodeInternal, "cannot install the service: %w", err)
	}
	if runtime.GOOS == "darwin" {
		_ = a.quietly(ctx, "launchctl", "bootout", domain()+"/"+service.AgentName) // there may be none yet
		if err := a.call(ctx, "launchctl", "bootstrap", domain(), file); err != nil {
			return err
		}
	} else {
		for _, step := range [][]string{{"daemon-reload"}, {"enable", service.UnitName}, {"restart", service.UnitName}} {
			if err := a.call(ctx, "systemctl", append([]string{"--user"}, step...)...); err != nil {
				return err
			}
		}
		if linger {
			if err := a.call(ctx, "loginctl", "enable-linger"); err != nil {
				return err
			}
		}
	}
	a.note("installed %s; `terret service status` shows whether it runs, `terret open` opens the web UI", file)
	return nil
}

func (a *app) uninstallService(ctx context.Context) error {
	file, err := a.serviceFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return terret.Errorf(terret.CodeNotFound, "the service is not installed: there is no %s", file)
	}
	if err := a.manager(ctx); err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		_ = a.quietly(ctx, "launchctl", "bootout", domain()+"/"+service.AgentName) // it may not be loaded
	} else if err := a.call(ctx, "systemctl", "--user", "disable", "--now", service.UnitName); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return terret.Errorf(terret.CodeInternal, "cannot remove the service: %w", err)
	}
	if runtime.GOOS != "darwin" {
		if err := a.call(ctx, "systemctl", "--user", "daemon-reload"); err != nil {
			return err
		}
	}
	a.note("removed %s; your sessions stay", file)
	return nil
}

func (a *app) serviceStatus(ctx context.Context) error {
	file, err := a.serviceFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return terret.Errorf(terret.CodeNotFound, "the service is not installed; `terret service install` does that")
	}
	if err := a.manager(ctx); err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		return a.call(ctx, "launchctl", "print", domain()+"/"+service.AgentName)
	}
	return a.call(ctx, "systemctl", "--user", "status", "--no-pager", "--lines=0", service.UnitName)
}

func (a *app) serviceLogs(ctx context.Context, lines int, follow bool) error {
	if _, err := a.serviceFile(); err != nil {
		return err
	}
	args := []string{"-n", strconv.Itoa(max(lines, 0))}
	if follow {
		args = append(args, "-f")
	}
	if runtime.GOOS == "darwin" {
		return a.call(ctx, "tail", append(args, filepath.Join(a.home(), "service.log"))...)
	}
	return a.call(ctx, "journalctl", append(args, "--no-pager", "--user-unit="+service.UnitName)...)
}

// domain is launchd's name for this user's services.
func domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

// manager checks that there is a service manager to talk to.
func (a *app) manager(ctx context.Context) error {
	if runtime.GOOS == "darwin" {
		return nil // launchd always runs
	}
	if err := a.quietly(ctx, "systemctl", "--user", "show-environment"); err != nil {
		return terret.Errorf(terret.CodeUnsupported, "systemd does not run for this user here (%w); run `terret serve` otherwise, or give what `terret service install --print` prints to your service manager", err)
	}
	return nil
}

// call runs a program of the system, whose output is the command's.
func (a *app) call(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = a.out, a.err
	return failedCall(program, args, cmd.Run())
}

// quietly runs a program of the system, whose output nobody wants.
func (a *app) quietly(ctx context.Context, program string, args ...string) error {
	return failedCall(program, args, exec.CommandContext(ctx, program, args...).Run())
}

func failedCall(program string, args []string, err error) error {
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return terret.Errorf(terret.CodeUnsupported, "there is no %s here", program)
	case ok:
		return terret.Errorf(terret.CodeUnsupported, "%s %v failed with exit code %d", program, args, exit.ExitCode())
	default:
		return terret.Errorf(terret.CodeInternal, "%s: %w", program, err)
	}
}
