package policy

import "strings"

// gitPlain are git's own commands; any other word may be an alias that runs
// anything.
var gitPlain = set("add am annotate apply archive blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format " +
	"checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree count-objects describe diff diff-files " +
	"diff-index diff-tree fetch fetch-pack for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init " +
	"interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-tree mktag mktree mv " +
	"name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote " +
	"repack replace request-pull rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout " +
	"stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var " +
	"verify-commit verify-pack verify-tag version whatchanged worktree write-tree config")

// gitValues are git's global options that take the next word.
var gitValues = set("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source --list-cmds")

// gitGlobals are the global options that change nothing that matters here.
var gitGlobals = set("--no-pager --paginate -p -P --no-replace-objects --bare --literal-pathspecs --no-optional-locks --version --help -v -h " +
	"--no-advice --no-lazy-fetch --html-path --man-path --info-path")

// gitConfigs are settings that may be given with -c.
var gitConfigs = []string{"color.", "core.quotepath=", "core.quotePath=", "advice.", "user.name=", "user.email=", "log.showSignature=false", "core.abbrev=", "diff.noprefix=", "commit.gpgsign=false", "tag.gpgsign=false", "init.defaultBranch="}

// gitRisky are options of git's commands that run something, or write a file
// that is named like any option.
const gitRisky = "--upload-pack --receive-pack --exec --extcmd --ext-diff --textconv --open-files-in-pager --output --output-directory " +
	"--template --config --separate-git-dir --interactive --editor --reference --to-command --fsmonitor --strategy --use-askpass " +
	"--tool --tool-help --gpg-sign --local-user --show-signature --filter-process --config-env --remote"

// gitShort are short options that do so, by command.
var gitShort = map[string]string{
	"rebase": "xi", "grep": "O", "clone": "uc", "ls-remote": "u", "fetch": "", "difftool": "x", "archive": "o", "format-patch": "o",
	"add": "ie", "commit": "pe", "checkout": "", "bisect": "", "tag": "su", "config": "ef", "init": "", "log": "", "diff": "", "show": "",
}

// gitText are options whose value is the next word, whatever it looks like, and
// gitMessage is that of the commands that take a message.
var (
	gitText    = set("--message --author --date --grep --trailer --since --until --after --before")
	gitMessage = set("commit merge tag stash notes")
)

// afterGitOptions returns the words from git's command on.
func afterGitOptions(words []word) []word {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case gitValues[w.text]:
			i++
		case strings.HasPrefix(w.text, "-"):
		default:
			return words[i:]
		}
	}
	return nil
}

// gitCommand finds the ways in which git runs something else.
func gitCommand(r *reader, c *call) {
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal():
			c.opaque("git's command is computed")
			return
		case w.text == "-c" && i+1 < len(c.words) && gitConfigured(c.words[i+1]):
			i++
		case w.text == "-C" && i+1 < len(c.words) && r.insideRoots(c.words[i+1]):
			i++
		case gitGlobals[w.text]:
		case strings.HasPrefix(w.text, "-"):
			c.opaque("with " + show([]word{w}) + ", git may run something else")
			return
		case !gitPlain[w.text]:
			c.opaque("git " + show([]word{w}) + " is an alias, or runs something else")
			return
		default:
			gitSubcommand(c, i)
			return
		}
	}
}

func gitConfigured(w word) bool {
	for _, setting := range gitConfigs {
		if w.literal() && strings.HasPrefix(w.text, setting) && !strings.Contains(w.text, "!") {
			return true
		}
	}
	return false
}

// gitSubcommand reads the words from git's command at i on.
func gitSubcommand(c *call, i int) {
	command, words := c.words[i].text, c.words[i+1:]
	first := ""
	if len(words) > 0 {
		first = words[0].text
	}
	switch {
	case command == "config" && !strings.HasPrefix(first, "--get") && first != "--list" && first != "-l" && first != "get" && first != "list":
		c.opaque("git config changes what git runs")
		return
	case command == "submodule" && first != "" && first != "status" && first != "summary",
		command == "remote" && (first == "add" || first == "set-url"),
		command == "maintenance" || command == "help" && len(words) > 0:
		c.opaque("git " + command + " " + show(words[:min(1, len(words))]) + " may run something else")
		return
	}
	operandsOnly := false
	for k, w := range words {
		value := k > 0 && (gitText[words[k-1].text] || gitMessage[command] && gitM(words[k-1].text))
		letters := ""
		if strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") {
			letters = w.text
			if gitMessage[command] {
				letters, _, _ = strings.Cut(letters, "m")
			}
		}
		switch {
		case operandsOnly || value && !w.literal() && !w.splits:
		case w.text == "--":
			operandsOnly = true
		case !w.literal() && w.mayBeFlag():
			c.opaque("a computed argument may be an option that makes git run something")
			return
		case isLongOf(w.text, gitRisky) && strings.HasPrefix(w.text, "--"), strings.ContainsAny(letters, gitShort[command]):
			c.opaque("with " + show([]word{w}) + ", git may run something else, or write a file")
			return
		case strings.Contains(w.text, "ext::"), strings.HasPrefix(w.text, "fd::"):
			c.opaque("git runs a program for this address")
			return
		}
	}
}

// gitM reports whether a word is a cluster of short options that ends in -m.
func gitM(w string) bool {
	return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Index(w, "m") == len(w)-1
}
