package policy

import "strings"

// plainPrograms do not run what is in their arguments.
var plainPrograms = set("echo printf cat ls head tail wc cut tr uniq nl rev tac basename dirname realpath readlink stat file " +
	"du df date cal id whoami hostname uname uptime which type printenv pwd true false : test [ seq sleep md5sum sha1sum sha256sum " +
	"sha512sum cksum b2sum diff cmp comm grep egrep fgrep jq tree ps pgrep kill touch mkdir rmdir rm mv cp ln chmod chown tee " +
	"truncate dd join paste column fold fmt expand od xxd hexdump strings nproc free exit return break continue wait cd pushd popd " +
	"shift umask ulimit gzip gunzip zcat bzip2 xz zstd unzip base64 less more unlink shred patch install mktemp mkfifo bat ag")

// access is what a program does with the files in its arguments.
type access int

const (
	reads access = iota + 1
	searches
	writes
)

// fileAccess are programs whose arguments are files.
var fileAccess = func() map[string]access {
	m := map[string]access{}
	for kind, names := range map[access]string{
		reads: "cat head tail less more nl tac rev wc cut sort uniq grep egrep fgrep diff cmp comm od xxd hexdump strings base64 " +
			"md5sum sha1sum sha256sum sha512sum cksum b2sum jq sed awk gawk mawk paste join column fold fmt expand bat source . " +
			"zcat gzip tar zip scp tr open vim vi nano view",
		searches: "rg ag find fd fdfind",
		writes:   "rm mv cp ln touch tee truncate dd install mkdir rmdir chmod chown shred unlink patch sponge rsync mkfifo",
	} {
		for name := range set(names) {
			m[name] = kind
		}
	}
	return m
}()

// opaquePrograms run what their arguments, their input or a person at a terminal
// say, in ways that are not followed here.
var opaquePrograms = func() map[string]string {
	m := map[string]string{}
	for why, names := range map[string]string{
		"%s runs commands that cannot be followed": "ssh mosh rsh su runuser script watch at batch crontab expect " +
			"parallel entr screen tmux systemd-run chroot nsenter unshare flock strace ltrace gdb lldb valgrind perf start-stop-daemon " +
			"socat nc ncat netcat telnet ftp wsl docker-compose vagrant nix nix-shell guix apply_patch osascript " +
			"xdg-open open start launchctl systemctl at atq gnome-terminal xterm ansible ansible-playbook dtach daemonize fakeroot " +
			"proot bwrap firejail sandbox-exec unsandbox wine qemu jshell bpftrace debugfs",
		"%s reads another shell's language":           "fish csh tcsh nu xonsh elvish powershell pwsh cmd rc es ion osh ysh",
		"%s is an editor that can run commands":       "vi vim nvim view ex ed emacs emacsclient nano pico joe micro hx kak red mcedit",
		"%s changes what later commands mean":         "alias unalias enable hash bind complete compgen compopt shopt fc history getopts zmodload autoload zle emulate setopt unsetopt functions disable rehash sched vared zcompile zstyle bindkey logout suspend disown caller dirs",
		"%s lets its arguments run through a shell":   "psql mysql sqlite3 sqlite m4 dc bc gnuplot octave make-kpkg ghci irb pry iex ipython jupyter pdb rdb lftp mutt mail mailx",
		"%s installs or starts what others have made": "eval-file insmod modprobe ld.so ld-linux.so ld-linux-x86-64.so",
	} {
		for name := range set(names) {
			m[name] = strings.Replace(why, "%s", name, 1)
		}
	}
	return m
}()

// interpreter is a program that runs code.
type interpreter struct {
	inline string // short options that hold code, or load it
	long   string // long ones
	values string // short options with a value
	module string // the short option that names a module
}

var interpreters = map[string]interpreter{
	"python": {inline: "ci", values: "WXQ", module: "m"}, "pypy": {inline: "ci", values: "WX", module: "m"},
	"perl": {inline: "eEMmdsxS", values: "ICFl0D"}, "ruby": {inline: "erxS", values: "ICEKTW"},
	"node":   {inline: "epri", long: "--eval --print --require --import --loader --experimental-loader --interactive"},
	"nodejs": {inline: "epri", long: "--eval --print --require --import --loader --interactive"},
	"deno":   {inline: "", long: "--eval"}, "bun": {inline: "epri", long: "--eval --print --preload --require --import"},
	"ts-node": {inline: "epri", long: "--eval --print --require"}, "tsx": {inline: "ep", long: "--eval --print --require --import"},
	"php": {inline: "rBREFda", values: "Ccz"}, "lua": {inline: "eli"}, "luajit": {inline: "elij"},
	"rscript": {inline: "e"}, "r": {inline: "efq", long: "--file --no-save --slave"}, "julia": {inline: "eELiE", long: "--eval --print --load"},
	"groovy": {inline: "ei"}, "elixir": {inline: "er", long: "--eval --rpc-eval --require"}, "erl": {inline: "ers", long: ""},
	"tclsh": {}, "wish": {}, "guile": {inline: "cesl"}, "racket": {inline: "efmtlpr"}, "scala": {inline: "e"}, "swift": {inline: "e"},
}

// codeModules are modules that run code in their arguments.
var codeModules = set("timeit cProfile profile pdb trace runpy code IPython")

// read says how much of an interpreter's call a rule must name.
func (in interpreter) read(c *call) {
	name := c.words[0].text
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal() && w.mayBeFlag():
			c.opaque("the arguments of " + name + " are computed")
			return
		case w.text == "--version" || w.text == "--help" || w.text == "-V" || len(c.words) == 2 && (w.text == "-v" || w.text == "-h"):
			return
		case w.text == "-":
			c.readsInput()
			return
		case w.text == "eval" || isLongOf(w.text, in.long):
			c.opaque(name + " runs code that it is given")
			return
		case strings.HasPrefix(w.text, "--"):
		case strings.HasPrefix(w.text, "-"):
			if done, next := in.cluster(c, i, w.text[1:]); done {
				return
			} else {
				i = next
			}
		default:
			c.pin = i + 1 // a file, as any program
			return
		}
	}
	c.readsInput()
}

// cluster reads short options. It reports whether the call is decided.
func (in interpreter) cluster(c *call, i int, options string) (done bool, next int) {
	for k := range len(options) {
		rest := options[k+1:]
		switch o := options[k : k+1]; {
		case strings.Contains(in.inline, o):
			c.opaque(c.words[0].text + " runs code that it is given")
			return true, i
		case in.module == o:
			if rest == "" && i+1 < len(c.words) {
				i, rest = i+1, c.words[i+1].text
			}
			c.pin = i + 1
			if codeModules[rest] || strings.Contains(rest, anyText) || rest == "" {
				c.opaque("the module runs code that it is given")
			}
			return true, i
		case strings.Contains(in.values, o):
			if rest == "" {
				i++
			}
			return false, i
		}
	}
	return false, i
}

// isLongOf reports whether a word is one of the long options, or an abbreviation
// of one, with or without a value.
func isLongOf(w, options string) bool {
	name, _, _ := strings.Cut(w, "=")
	if len(name) < 3 || !strings.HasPrefix(name, "-") {
		return false
	}
	for option := range strings.FieldsSeq(options) {
		if strings.HasPrefix(option, name) {
			return true
		}
	}
	return false
}

// risk is what makes an otherwise plain program run another one.
type risk struct {
	short string // letters of short options
	long  string // long options, as they are written
	words string // words anywhere
	parts string // texts inside a word
}

var riskyFlags = map[string]risk{
	"tar":   {short: "IF", long: "--to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script --one-top-level"},
	"rsync": {short: "e", long: "--rsh --rsync-path --daemon --config"},
	"sort":  {long: "--compress-program"},
	"rg":    {long: "--pre --hostname-bin --pre-glob"},
	"fd":    {short: "xX", long: "--exec --exec-batch"}, "fdfind": {short: "xX", long: "--exec --exec-batch"},
	"scp": {short: "SoDF"}, "sftp": {short: "SoDFb"},
	"curl": {short: "K", long: "--config"}, "wget": {short: "e", long: "--use-askpass --execute --config"},
	"zip":  {short: "T", long: "--test --unzip-command"},
	"make": {short: "E", long: "--eval", parts: "SHELL= MAKEFLAGS= .SHELLFLAGS="}, "gmake": {short: "E", long: "--eval", parts: "SHELL= MAKEFLAGS="},
	"ninja": {short: "t"},
	"go":    {long: "-exec -toolexec -vettool -overlay --exec --toolexec --vettool --overlay", parts: "extld= -extld", words: "-w"},
	"npm":   {long: "--script-shell --node-options", words: "config set explore edit init create"}, "pnpm": {long: "--script-shell --node-options", words: "config set create"},
	"yarn":  {long: "--script-shell --use-yarnrc --node-options", words: "config set node create"},
	"pip":   {long: "--config-settings --global-option --build-option --install-option --python", words: "config"},
	"cargo": {long: "--config", words: "-Z install"},
	"gcc":   {long: "-wrapper -fplugin -specs"}, "g++": {long: "-wrapper -fplugin -specs"}, "cc": {long: "-wrapper -fplugin -specs"},
	"clang": {long: "-fplugin -load -fpass-plugin"},
	"less":  {short: "k", long: "--lesskey-file --lesskey-src", parts: "!"}, "more": {parts: "!"},
	"man": {short: "PH", long: "--pager --html"}, "hg": {long: "--config"},
	"svn":    {long: "--config-option --editor-cmd --diff-cmd --diff3-cmd --config-dir"},
	"docker": {words: "run exec create compose buildx plugin context cp"}, "podman": {words: "run exec create compose cp"},
	"kubectl": {words: "run exec debug cp plugin attach"}, "oc": {words: "run exec debug rsh"},
	"gh": {words: "alias extension config api"}, "openssl": {words: "engine -engine -provider"},
	"gpg":    {long: "--exec-path --photo-viewer --agent-program --options --homedir"},
	"ffmpeg": {parts: "concat: subfile: pipe:"}, "rustc": {short: "C", long: "-Clinker"}, "mount": {short: "t", long: "--types"},
	"aws": {words: "configure"}, "poetry": {words: "config"}, "uv": {long: "--config-file --index-url"},
	"terraform": {long: "-chdir"}, "cmake": {words: "-E -P"}, "mvn": {parts: "exec:"}, "gradle": {words: "-I", long: "--init-script"},
}

// check finds options that run something, and words that may turn out to be one.
func (risky risk) check(c *call) {
	name := program(c.words[0].text)
	words := set(risky.words)
	for i, w := range c.words[1:] {
		if !w.literal() && w.mayBeFlag() {
			c.opaque("a computed argument may be an option that makes " + name + " run something")
			return
		}
		cluster := strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") || i == 0 && name == "tar"
		bad := words[w.text] || isLongOf(w.text, risky.long) || cluster && strings.ContainsAny(w.text, risky.short)
		for part := range strings.FieldsSeq(risky.parts) {
			bad = bad || strings.Contains(w.text, part)
		}
		if bad {
			c.opaque("with " + show([]word{w}) + ", " + name + " may run something else")
			return
		}
	}
}
