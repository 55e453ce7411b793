package review

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// builtIn holds the templates that come with Terret.
//
//go:embed templates/*.yaml
var builtIn embed.FS

// Template says how to review.
type Template struct {
	Name        string `yaml:"name" json:"name"`
	Description string `yaml:"description" json:"description,omitempty"`
	System      string `yaml:"system" json:"system,omitempty"` // added to the agent's system prompt
	// Prompt may contain {{diff}} and {{input}}.
	Prompt string `yaml:"prompt" json:"prompt"`
	// Tools are the agent's tools; nil means those that only read, "all" means all.
	Tools []string `yaml:"tools" json:"tools,omitzero"`
	// PermissionMode is the agent's own. Empty means that the agent asks before it does
	// anything but look at files in the folder, and nobody answers.
	PermissionMode string   `yaml:"permission_mode" json:"permission_mode,omitempty"`
	Agent          string   `yaml:"agent" json:"agent,omitempty"`
	Model          string   `yaml:"model" json:"model,omitempty"`
	SettingSources []string `yaml:"setting_sources" json:"setting_sources,omitzero"`
	MaxCostUSD     float64  `yaml:"max_cost_usd" json:"max_cost_usd,omitempty"`
	Diff           DiffRule `yaml:"diff" json:"diff,omitzero"`
}

// DiffRule says what is reviewed.
type DiffRule struct {
	Base     string   `yaml:"base" json:"base,omitempty"`         // commit or range; empty means what is not committed
	Exclude  []string `yaml:"exclude" json:"exclude,omitempty"`   // patterns of paths
	Optional bool     `yaml:"optional" json:"optional,omitempty"` // the input alone can be reviewed
}

// allTools is the word for all tools.
const allTools = "all"

// readOnly are the tools of templates that name none.
var readOnly = []string{"Read", "Glob", "Grep"}

var placeholders = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

// Load returns the built-in template of that name, or else the one in that file.
func Load(name string) (Template, error) {
	if text, err := builtIn.ReadFile("templates/" + name + ".yaml"); err == nil {
		return Parse(name+".yaml", text)
	}
	if !strings.ContainsAny(name, `./\`) {
		return Template{}, terret.Invalid("template", "there is no template %q; use %s, or a YAML file", name, strings.Join(Names(), ", "))
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return Template{}, terret.Invalid("template", "%w", err)
	}
	return Parse(filepath.Base(name), text)
}

// Names lists the built-in templates.
func Names() []string {
	var out []string
	files, _ := builtIn.ReadDir("templates") // it is embedded
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// Parse reads a template. Errors begin with name:line:column.
func Parse(name string, data []byte) (Template, error) {
	var t Template
	file, err := yamlfile.Parse(name, data, &t)
	if err == nil {
		err = t.check(file)
	}
	if err != nil {
		return t, terret.Invalid("template", "%w", err)
	}
	if t.Name == "" {
		t.Name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	if t.Tools == nil {
		t.Tools = readOnly
	}
	return t, nil
}

func (t *Template) check(file yamlfile.File) error {
	if strings.TrimSpace(t.Prompt) == "" {
		return file.Errorf("$", "a template needs a prompt")
	}
	for _, m := range placeholders.FindAllStringSubmatch(t.Prompt, -1) {
		if m[1] != "diff" && m[1] != "input" {
			return file.Errorf("$.prompt", "{{%s}} is unknown; use {{diff}} or {{input}}", m[1])
		}
	}
	if !slices.ContainsFunc(placeholders.FindAllStringSubmatch(t.Prompt, -1), func(m []string) bool { return m[1] == "diff" }) && !t.Diff.Optional {
		return file.Errorf("$.prompt", "the prompt must contain {{diff}}")
	}
	for i, p := range t.Diff.Exclude {
		if _, err := path.Match(strings.ReplaceAll(p, "**", "*"), "x"); err != nil {
			return file.Errorf(fmt.Sprintf("$.diff.exclude[%d]", i), "%q is not a pattern", p)
		}
	}
	return nil
}

// excluded reports whether a path matches a pattern: by its whole, by its last element if
// the pattern has no slash, or below a folder if the pattern ends with /**.
func (d DiffRule) excluded(file string) bool {
	return slices.ContainsFunc(d.Exclude, func(p string) bool {
		if folder, ok := strings.CutSuffix(p, "/**"); ok {
			return strings.HasPrefix(file, folder+"/") || strings.Contains(file, "/"+folder+"/")
		}
		name := file
		if !strings.Contains(p, "/") {
			name = path.Base(file)
		}
		ok, _ := path.Match(p, name) // checked before
		return ok
	})
}
