package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// What happens when a step fails.
const (
	Retry = "retry" // up to the step's number of retries
	Ask   = "ask"   // wait until a person has decided
	Stop  = "stop"  // end the run; the default
)

// InputName is the name by which prompts refer to what the run was started with.
const InputName = "input"

// defaultRetries is how often a step is tried again that says retry and no number.
const defaultRetries = 2

// Workflow is a file of steps.
type Workflow struct {
	Name  string `yaml:"name"`
	Steps []Step `yaml:"steps"`
}

// Step is one thing for one agent to do.
type Step struct {
	ID    string `yaml:"id"`
	Agent string `yaml:"agent"` // empty means the default
	Model string `yaml:"model"`
	// Prompt may contain {{input}} and {{ID}} of earlier steps, which stand for what
	// the run was started with and for what those steps answered.
	Prompt         string   `yaml:"prompt"`
	Instructions   string   `yaml:"instructions"`    // added to the system prompt
	Tools          []string `yaml:"tools"`           // which the agent has, and uses without asking; nil means all
	PermissionMode string   `yaml:"permission_mode"` // the agent's own
	SettingSources []string `yaml:"setting_sources"`
	// Check is a shell command; if it fails, the step has failed.
	Check      string  `yaml:"check"`
	OnFailure  string  `yaml:"on_failure"`
	Retries    int     `yaml:"retries"`
	Timeout    string  `yaml:"timeout"`
	MaxCostUSD float64 `yaml:"max_cost_usd"`

	timeout time.Duration
}

var (
	ids          = lazyregexp.New(`^[\pL\pN](?:[\pL\pN_-]*[\pL\pN])?$`)
	placeholders = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)
)

// maxID is how many characters the id of a step may have.
const maxID = 42

// Parse reads a workflow. Errors begin with name:line:column.
func Parse(name string, data []byte) (*Workflow, error) {
	var w Workflow
	file, err := yamlfile.Parse(name, data, &w)
	if err != nil {
		return nil, terret.Invalid("workflow", "%w", err)
	}
	if err := w.check(file); err != nil {
		return nil, terret.Invalid("workflow", "%w", err)
	}
	if w.Name == "" {
		w.Name = strings.TrimSuffix(strings.TrimSuffix(name, ".yml"), ".yaml")
	}
	return &w, nil
}

func (w *Workflow) check(file yamlfile.File) error {
	if len(w.Steps) == 0 {
		return file.Errorf("$.steps", "a workflow needs steps")
	}
	known := []string{InputName}
	for i := range w.Steps {
		if err := w.Steps[i].check(file, fmt.Sprintf("$.steps[%d]", i), known); err != nil {
			return err
		}
		known = append(known, w.Steps[i].ID)
	}
	return nil
}

// check validates a step, and fills in defaults. Known are the names that its prompt may
// refer to.
func (s *Step) check(file yamlfile.File, path string, known []string) (err error) {
	switch {
	case s.ID == "":
		return file.Errorf(path, "a step needs an id")
	case !ids.MatchString(s.ID), utf8.RuneCountInString(s.ID) > maxID:
		return file.Errorf(path+".id", "%q cannot be an id: use up to %d letters, digits, dashes and underscores", s.ID, maxID)
	case slices.Contains(known, s.ID):
		return file.Errorf(path+".id", "%q is taken", s.ID)
	case strings.TrimSpace(s.Prompt) == "":
		return file.Errorf(path, "a step needs a prompt")
	case s.Retries < 0:
		return file.Errorf(path+".retries", "it must not be negative")
	case s.MaxCostUSD < 0:
		return file.Errorf(path+".max_cost_usd", "it must not be negative")
	}
	for _, m := range placeholders.FindAllStringSubmatch(s.Prompt, -1) {
		if !slices.Contains(known, m[1]) {
			return file.Errorf(path+".prompt", "{{%s}} is neither an earlier step nor input; use one of %s", m[1], strings.Join(known, ", "))
		}
	}
	switch s.OnFailure {
	case "":
		s.OnFailure = Stop
	case Retry:
		if s.Retries == 0 {
			s.Retries = defaultRetries
		}
	case Ask, Stop:
	default:
		return file.Errorf(path+".on_failure", "%q is not possible; use retry, ask or stop", s.OnFailure)
	}
	if s.Retries > 0 && s.OnFailure == Stop {
		return file.Errorf(path+".retries", "it is only for on_failure: retry or ask")
	}
	if s.Timeout != "" {
		if s.timeout, err = time.ParseDuration(s.Timeout); err != nil || s.timeout <= 0 {
			return file.Errorf(path+".timeout", "%q is not a duration; write it like 90s or 10m", s.Timeout)
		}
	}
	return nil
}

// maxOutput bounds what a step's answer takes of another step's prompt, in bytes.
const maxOutput = 32 << 10

// fill puts what is known into a prompt. Answers of agents are marked as such.
func fill(prompt string, input string, answers map[string]string) string {
	return placeholders.ReplaceAllStringFunc(prompt, func(found string) string {
		name := placeholders.FindStringSubmatch(found)[1]
		if name == InputName {
			return input
		}
		text := answers[name]
		if len(text) > maxOutput {
			text = strings.ToValidUTF8(text[:maxOutput], "") + fmt.Sprintf("\n[%d bytes are left out]", len(text)-maxOutput)
		}
		return "<answer step=\"" + name + "\">\n" + strings.ReplaceAll(text, "</answer", "<\\/answer") + "\n</answer>"
	})
}
