package redact

import (
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// FromEnv picks from an environment what is secret by its name: names that end
// in _SECRET, _PASSWORD, _CREDENTIAL, _CREDENTIALS, _KEY (so _API_KEY) or _TOKEN,
// or are one of these words, and DATABASE_URL and REDIS_URL. Case does not
// matter.
func FromEnv(environ []string) map[string]string {
	secrets := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && secretName(name) {
			secrets[name] = value
		}
	}
	return secrets
}

// secretName reports whether what has that name is a secret. It takes the names
// of variables, flags, headers and JSON keys.
func secretName(name string) bool {
	name = strings.ToUpper(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
	switch name {
	case "DATABASE_URL", "REDIS_URL", "TERRET_STORE", "APIKEY", "AUTHORIZATION", "PROXY_AUTHORIZATION":
		return true
	}
	if strings.HasSuffix(name, "PASSWORD") || strings.HasSuffix(name, "PASSWD") { // PGPASSWORD
		return true
	}
	for _, word := range []string{"SECRET", "CREDENTIAL", "CREDENTIALS", "KEY", "TOKEN"} {
		if rest, ok := strings.CutSuffix(name, word); ok && (rest == "" || strings.HasSuffix(rest, "_")) {
			return true
		}
	}
	return false
}

var (
	word       = lazyregexp.New(`^[A-Za-z0-9_-]+$`)
	assignment = lazyregexp.New(`([A-Za-z][A-Za-z0-9_-]*)=("[^"]*"|'[^']*'|[^\s"']+)`)
	member     = lazyregexp.New(`"([A-Za-z][A-Za-z0-9_-]*)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`)
	header     = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_-]*)(\s*:\s*)\S`)
)

// Args returns a command as it may be logged. Besides secrets, it replaces the
// values of flags (--api-key=X, --api-key X), assignments (X_TOKEN=Y), headers
// (-H "X-Api-Key: Y") and members of JSON objects whose names say that they are
// secret, whatever their length. It does not change argv.
func (r *Redactor) Args(argv []string) []string {
	out := make([]string, len(argv))
	flag := ""
	for i, arg := range argv {
		switch {
		case flag != "" && secretName(flag) && !strings.HasPrefix(arg, "-"):
			out[i] = unnamed
		case flag == "-H" || flag == "--header":
			out[i] = redactHeader(r.String(arg))
		default:
			out[i] = r.arg(arg)
		}
		flag = ""
		if strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
			flag = arg
		}
	}
	return out
}

func (r *Redactor) arg(arg string) string {
	arg = r.String(arg)
	if name, value, ok := strings.Cut(arg, "="); ok && word.MatchString(name) {
		switch {
		case secretName(name):
			return name + "=" + unnamed
		case name == "--header":
			return name + "=" + redactHeader(value)
		}
	}
	arg = redactAssignments(arg)
	arg = member.ReplaceAllStringFunc(arg, func(s string) string {
		if m := member.FindStringSubmatch(s); secretName(m[1]) {
			return `"` + m[1] + `"` + m[2] + `"` + unnamed + `"`
		}
		return s
	})
	return arg
}

func redactAssignments(s string) string {
	return assignment.ReplaceAllStringFunc(s, func(s string) string {
		name, value, _ := strings.Cut(s, "=")
		if secretName(name) {
			return name + "=" + unnamed
		}
		return name + "=" + redactAssignments(value) // --env=X_TOKEN=Y
	})
}

func redactHeader(s string) string {
	if m := header.FindStringSubmatch(s); m != nil && secretName(m[1]) {
		return m[1] + m[2] + unnamed
	}
	return s
}
