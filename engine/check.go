package engine

import (
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// checkSession validates a new session.
func checkSession(s terret.Session) error {
	if err := s.Policy.Validate(); err != nil {
		return err
	}
	if err := s.Mode.Validate(); err != nil {
		return err
	}
	for _, w := range []struct{ field, value string }{
		{"permission_mode", s.PermissionMode},
		{"model", s.Model},
		{"options.effort", s.Options.Effort},
		{"options.fallback_model", s.Options.FallbackModel},
	} {
		if err := checkWord(w.field, w.value); err != nil {
			return err
		}
	}
	if err := s.Options.Sandbox.Validate("options.sandbox"); err != nil {
		return err
	}
	if err := terret.CheckGates("options.gates", s.Options.Gates); err != nil {
		return err
	}
	if err := terret.CheckTimeouts("options.timeouts", s.Options.Timeouts); err != nil {
		return err
	}
	if err := checkRules("options.allow", s.Options.Allow); err != nil {
		return err
	}
	if err := checkRules("options.deny", s.Options.Deny); err != nil {
		return err
	}
	return checkRules("options.ask", s.Options.Ask)
}

// checkWord rejects values that an agent could misread as a flag or as several lines.
func checkWord(field, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) || strings.HasPrefix(value, "-") {
		return terret.Invalid(field, "%q contains control characters or begins with -", value)
	}
	return nil
}

func checkRules(field string, patterns []string) error {
	for _, p := range patterns {
		if _, err := policy.Parse(p); err != nil {
			return terret.Invalid(field, "%w", err)
		}
	}
	return nil
}

// checkUpdate validates a change to a session.
func checkUpdate(u terret.SessionUpdated) error {
	if u.Policy != nil {
		if err := u.Policy.Validate(); err != nil {
			return err
		}
	}
	if u.Mode != nil {
		if err := u.Mode.Validate(); err != nil {
			return err
		}
	}
	if u.PermissionMode != nil {
		if err := checkWord("permission_mode", *u.PermissionMode); err != nil {
			return err
		}
	}
	if u.Model != nil {
		return checkWord("model", *u.Model)
	}
	return nil
}
