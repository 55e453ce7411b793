package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Words lists the values that the named check accepts, in display order; nil if it is
// not a list of words.
func Words(check string) []string {
	switch check {
	case "policy":
		return []string{"ask", "accept-edits", "rules", "plan", "deny-unless-allowed", "auto-approve"}
	case "gate":
		return []string{"permission", "pre_tool", "prompt", "question", "plan", "stop", "subagent_stop", "compact", "trust"}
	case "sandbox":
		return []string{"off", "workspace-write", "read-only"}
	case "api":
		return []string{"chat", "responses", "anthropic", "gemini"}
	case "level":
		return []string{"debug", "info", "warn", "error"}
	}
	return nil
}

// place is what paths are relative to.
type place struct {
	base string                     // for relative paths
	home string                     // for ~/
	rule func(pattern string) error // checks a rule; nil means that any text will do
}

// check returns the value in its final form, or an error.
func (p place) check(check, value string) (string, error) {
	if words := Words(check); words != nil {
		return value, checkWord(value, words)
	}
	if check == "" {
		return value, nil
	}
	if value == "" {
		return "", errors.New("must not be empty")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", fmt.Errorf("%q contains control characters", value)
	}
	switch check {
	case "text":
		return value, nil
	case "rule":
		if p.rule == nil {
			return value, nil
		}
		return value, p.rule(value)
	case "name":
		return value, checkName(value)
	case "variable":
		return value, checkVariable(value)
	case "addr":
		return value, checkAddr(value)
	case "url":
		return value, checkURL(value)
	case "store":
		return value, CheckStore(value)
	case "path":
		return p.path(value)
	case "program":
		if !strings.ContainsAny(value, `/\`) {
			return value, checkName(value)
		}
		return p.path(value)
	}
	return "", fmt.Errorf("there is no check %q", check)
}

func checkWord(value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	if near := nearest(value, words); near != "" {
		return fmt.Errorf("there is no %q; did you mean %q?", value, near)
	}
	return fmt.Errorf("there is no %q; use one of %s", value, strings.Join(words, ", "))
}

// CheckName rejects what is not the name of an agent.
func CheckName(name string) error {
	_, err := place{}.check("name", name)
	return err
}

// checkName rejects what could be misread as a flag or a path.
func checkName(s string) error {
	odd := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.+@", c)
	}
	if strings.ContainsFunc(s, odd) || s[0] == '-' || s[0] == '.' {
		return fmt.Errorf("%q is not a name; use letters, digits, - and _", s)
	}
	return nil
}

func checkVariable(s string) error {
	if s == "*" {
		return nil
	}
	name := strings.TrimSuffix(s, "*")
	odd := func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}
	if name == "" || strings.ContainsFunc(name, odd) || name[0] >= '0' && name[0] <= '9' {
		return fmt.Errorf("%q is not a variable name", s)
	}
	return nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("it is not the address of an API; it must look like http://127.0.0.1:8000/v1")
	}
	if u.User != nil {
		return errors.New("an address must not hold a password; put the key into a variable and name it as key_env")
	}
	return nil
}

// CheckStore rejects what is not the address of a PostgreSQL database. Its error never
// holds the address, in which there may be a password.
func CheckStore(s string) error {
	if !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") {
		return errors.New("it is not the address of a PostgreSQL database, which looks like postgres://user@host/database; `data` is the folder for a database on this machine")
	}
	return nil
}

func checkAddr(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address; write it like 127.0.0.1:7433", s)
	}
	return nil
}

func checkDuration(check string, d Duration) error {
	if check == "bounded" && d == Never {
		return errors.New(`"never" is not possible here; write it like "90s" or "30m"`)
	}
	return nil
}

func (p place) path(s string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		if p.home == "" {
			return "", fmt.Errorf("%q: the home folder is unknown; write the full path", s)
		}
		return filepath.Join(p.home, rest), nil
	}
	if filepath.IsAbs(s) {
		return filepath.Clean(s), nil
	}
	return filepath.Join(p.base, s), nil
}

// nearest is the word that s was probably meant to be, or empty.
func nearest(s string, words []string) string {
	if len(s) > 64 {
		return ""
	}
	best, least := "", max(2, len(s)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(s), w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is how many bytes must be added, removed or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
