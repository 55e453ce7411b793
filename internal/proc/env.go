package proc

import "strings"

// FilterEnv returns environ without what must not reach an agent: names that end in
// _SECRET, _PASSWORD, _CREDENTIAL, _CREDENTIALS, _KEY (so _API_KEY) or _TOKEN,
// DATABASE_URL, REDIS_URL, and all of Terret's own (TERRET_*). What allow lists is kept
// anyway: a name, or a prefix that ends in "*". Case does not matter. Order is kept,
// and environ is not changed.
func FilterEnv(environ []string, allow ...string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		if !denied(name) || allowed(name, allow) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func denied(name string) bool {
	if name == "DATABASE_URL" || name == "REDIS_URL" || strings.HasPrefix(name, "TERRET_") {
		return true
	}
	for _, suffix := range []string{"_SECRET", "_PASSWORD", "_CREDENTIAL", "_CREDENTIALS", "_KEY", "_TOKEN"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
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
