package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// checkConfig says what an engine lacks.
func checkConfig(cfg Config) error {
	if cfg.Store == nil {
		return terret.Invalid("Store", "an engine needs a store; sqlite.Open opens one")
	}
	names := map[string]bool{}
	for i, d := range cfg.Drivers {
		switch {
		case d == nil:
			return terret.Invalid("Drivers", "driver %d is nil", i)
		case d.Name() == "":
			return terret.Invalid("Drivers", "driver %d has no name", i)
		case names[d.Name()]:
			return terret.Invalid("Drivers", "two drivers are named %q", d.Name())
		}
		names[d.Name()] = true
	}
	return nil
}

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
	if err := checkLimits(s.Options); err != nil {
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

// checkLimits rejects limits that would be none, and values that are no JSON objects.
func checkLimits(o terret.SessionOptions) error {
	switch {
	case o.MaxTurns < 0:
		return terret.Invalid("options.max_turns", "%d must not be negative; 0 means the default", o.MaxTurns)
	case o.MaxCostUSD < 0:
		return terret.Invalid("options.max_cost_usd", "%s must not be negative; 0 means no limit", o.MaxCostUSD)
	case o.OnStale != "" && o.OnStale != terret.OnStaleNew && o.OnStale != terret.OnStaleError:
		return terret.Invalid("options.on_stale", "%q is unknown; use %s or %s", o.OnStale, terret.OnStaleNew, terret.OnStaleError)
	}
	for _, j := range []struct {
		field string
		value terret.JSON
	}{{"options.agents", o.Agents}, {"options.mcp", o.MCP}, {"options.output_schema", o.OutputSchema}} {
		var object map[string]json.RawMessage
		if len(j.value) > 0 && json.Unmarshal(j.value, &object) != nil {
			return terret.Invalid(j.field, "must be a JSON object")
		}
	}
	return nil
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

// checkFolder returns the folder's absolute path.
func checkFolder(dir string) (string, error) {
	if dir == "" {
		return "", terret.Invalid("cwd", "say which folder the agent should work in")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", terret.Invalid("cwd", "%w", err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", terret.Invalid("cwd", "there is no folder %s", abs)
	case err != nil:
		return "", terret.Invalid("cwd", "%w", err)
	case !info.IsDir():
		return "", terret.Invalid("cwd", "%s is a file, not a folder", abs)
	}
	return abs, nil
}

// folderThere refuses to start an agent in a folder that is not there any more: some would
// work elsewhere, or say something else.
func folderThere(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return terret.Errorf(terret.CodeStartupRefused, "the session's folder %s is not there any more; put it back and prompt the session again, or begin another one", dir)
	}
	return nil
}
