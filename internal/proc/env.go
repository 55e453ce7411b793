package proc

import (
	"net/url"
	"slices"
	"strings"
)

// FilterEnv returns environ without what must not reach an agent: names that
// look like those of secrets (see secretive), values that are URLs with a password
// in them other than proxies, and all of Terret's own (TERRET_*). What allow lists is kept all the same: a name, or a prefix that ends in "*". Case
// does not matter. Order is kept, and environ is not changed.
func FilterEnv(environ []string, allow ...string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		if !denied(name) && (!hasPassword(value) || strings.HasSuffix(name, "_PROXY")) || allowed(name, allow) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func denied(name string) bool {
	if strings.HasPrefix(name, "TERRET_") {
		return true
	}
	return slices.ContainsFunc(secretive, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// secretive is how names of secrets end.
var secretive = []string{
	"_SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "SSHPASS", "_PASS", "_PWD", "_CREDENTIAL", "_CREDENTIALS", "_CREDS",
	"_KEY", "_TOKEN", "_PAT", "_AUTH", "_AUTH_CONFIG", "_COOKIE", "_DSN", "_URI", "_WEBHOOK", "_WEBHOOK_URL",
	"DATABASE_URL", "REDIS_URL", "_CONNECTION_STRING",
}

// hasPassword reports whether a value is a URL with a password in it.
func hasPassword(value string) bool {
	if !strings.Contains(value, "://") || !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

func allowed(name string, allow []string) bool {
	for _, a := range allow {
		a = strings.ToUpper(a)
		prefix, isPrefix := strings.CutSuffix(a, "*")
		if name == a || isPrefix && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
