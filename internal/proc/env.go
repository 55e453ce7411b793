package proc

import (
	"net/url"
	"slices"
	"strings"
)

// FilterEnv returns what of environ an agent and its commands may see: what programs and
// tool chains usually need (see usual), and what allow lists: a name, or a prefix that
// ends in "*". A usual name is kept out all the same if it looks like that of a secret,
// or if its value is a URL with somebody's password or token in it, other than a proxy.
// In allow, "*" alone is everything that does not look secret and is not Terret's own.
// Case does not matter. Order is kept, and environ is not changed.
func FilterEnv(environ []string, allow ...string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if mayPass(strings.ToUpper(name), value, allow) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// KeptOut returns the names of what FilterEnv leaves out, sorted.
func KeptOut(environ []string, allow ...string) []string {
	var out []string
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); !mayPass(strings.ToUpper(name), value, allow) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func mayPass(name, value string, allow []string) bool {
	if slices.ContainsFunc(allow, func(a string) bool { return a != "*" && matches(strings.ToUpper(a), name) }) {
		return true
	}
	if name != "" && !slices.Contains(allow, "*") && !slices.ContainsFunc(usual, func(u string) bool { return matches(u, name) }) {
		return false
	}
	if strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "GIT_CONFIG_") {
		return true // the latter are a list: git fails if one is missing
	}
	return !secretName(name) && !secretURL(value)
}

// matches reports whether a pattern covers a name; both are in upper case.
func matches(pattern, name string) bool {
	prefix, isPrefix := strings.CutSuffix(pattern, "*")
	return name == pattern || isPrefix && strings.HasPrefix(name, prefix)
}

func secretName(name string) bool {
	return strings.HasPrefix(name, "TERRET_") ||
		slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) }) ||
		slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// secretWords are in names of secrets.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "HEADERS"}

// secretEnds is how other names of secrets end.
var secretEnds = []string{
	"SSHPASS", "_PASS", "_PWD", "_CREDS", "_KEY", "_PAT", "_AUTH", "_AUTH_CONFIG", "_COOKIE", "_DSN", "_URI", "_WEBHOOK", "_WEBHOOK_URL",
	"DATABASE_URL", "REDIS_URL", "_CONNECTION_STRING",
}

// secretURL reports whether a value is a URL with a password in it, or a web address
// with a user: tokens are given as users too.
func secretURL(value string) bool {
	if !strings.Contains(value, "://") || !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has || u.Scheme == "http" || u.Scheme == "https"
}
