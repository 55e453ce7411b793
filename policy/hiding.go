package policy

import "strings"

// hiding are programs that run what their arguments, their input or a person says, in
// ways that are not followed. A rule for one of them means what it says; a deny rule
// for the shell, or for files, asks about them.
var hiding = set("ssh mosh rsh su runuser script watch at batch crontab expect parallel entr screen tmux systemd-run chroot nsenter unshare flock strace " +
	"ltrace gdb lldb valgrind perf start-stop-daemon socat nc ncat netcat telnet ftp sftp lftp wsl docker-compose vagrant nix nix-shell guix apply_patch " +
	"osascript xdg-open open start launchctl systemctl gnome-terminal xterm ansible ansible-playbook dtach daemonize fakeroot proot bwrap firejail " +
	"sandbox-exec wine qemu jshell bpftrace debugfs run-parts run0 pkexec sg newgrp ionice taskset chrt caffeinate unbuffer setarch " +
	"fish csh tcsh nu xonsh elvish powershell pwsh cmd osh vi vim nvim view ex ed emacs emacsclient nano pico joe micro hx kak less more man " +
	"psql mysql sqlite3 sqlite m4 dc bc gnuplot octave ghci irb pry iex ipython jupyter pdb mutt mail mailx insmod modprobe ld.so")

// interpreters run code: that of a file, or what they are given.
var interpreters = set("python pypy perl ruby node nodejs deno ts-node tsx php lua luajit rscript r julia groovy elixir erl tclsh wish guile racket scala swift")

// plainly are options of interpreters that bring no code with them.
var plainly = set("-u -B -O -OO -I -s -w --test --watch --no-warnings --trace-warnings --enable-source-maps --max-old-space-size --experimental-strip-types")

// hides says why a program may run something that is not seen; it is empty if it may not.
func hides(name string, words []word) string {
	switch {
	case hiding[name]:
		return name + " runs commands that cannot be followed"
	case interpreters[name]:
		return interpreted(name, words)
	}
	return ""
}

// interpreted says why an interpreter may run other code than that of a file.
func interpreted(name string, words []word) string {
	for i, w := range words {
		option, _, _ := strings.Cut(w.text, "=")
		switch {
		case w.text == "--version" || w.text == "--help" || w.text == "-V" || len(words) == 1 && (w.text == "-v" || w.text == "-h"):
			return ""
		case w.text == "-m" && strings.HasPrefix(name, "py") && i+1 < len(words) && words[i+1].literal():
			return "" // a module, like a file
		case plainly[option]:
		case !w.literal() || strings.HasPrefix(w.text, "-") || w.text == "eval":
			return name + " may run code that it is given"
		default:
			return ""
		}
	}
	return name + " runs what it reads from its standard input"
}
