package native

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// helper is a kind of subagent.
type helper struct {
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"` // added to its system prompt
	Tools       []string `json:"tools"`  // nil means all that a subagent can have
	Model       string   `json:"model"`  // PROVIDER/MODEL; anything else means that of whoever starts it
}

// general is the helper that there always is.
const general = "general"

// helpers are the kinds of subagents that there are in a turn: our own, those in the
// user's folder and in a trusted project, and those of the session. Of those with the
// same name the last one counts.
func (a *agent) helpers(in terret.Settings) (map[string]helper, error) {
	out := map[string]helper{general: {Description: "for any task that can be described in one message"}}
	for _, f := range a.folders("agents") {
		for file, text := range f.texts(1) {
			if name, h, ok := parseHelper(path.Base(file), text); ok {
				out[name] = h
			}
		}
	}
	if len(in.Agents) > 0 {
		var own map[string]helper
		if err := json.Unmarshal(in.Agents, &own); err != nil {
			return nil, terret.Invalid("agents", "it must be an object with description, prompt, tools and model for each name: %w", err)
		}
		for name, h := range own {
			if strings.TrimSpace(name) == "" || h.Prompt == "" {
				return nil, terret.Invalid("agents", "%q needs a name and a prompt", name)
			}
			out[name] = h
		}
	}
	return out, nil
}

// parseHelper reads the file of a helper. One that cannot be read is left out, as are
// settings that we do not know.
func parseHelper(name string, content []byte) (string, helper, bool) {
	doc, err := yamlfile.Frontmatter(content)
	if err != nil {
		return "", helper{}, false
	}
	h := helper{Prompt: strings.TrimSpace(doc.Body)}
	for _, f := range doc.Fields {
		switch f.Key {
		case "name":
			name = f.Text
		case "description":
			h.Description = f.Text
		case "model":
			h.Model = f.Text
		case "tools":
			h.Tools = f.List
			if h.Tools == nil {
				for word := range strings.SplitSeq(f.Text, ",") {
					h.Tools = append(h.Tools, strings.TrimSpace(word))
				}
			}
		}
	}
	return name, h, name != "" && h.Prompt != ""
}

// taskSpec is what a model is told about the tool that starts subagents.
func taskSpec(helpers map[string]helper) *toolSpec {
	names := sorted(helpers)
	var about strings.Builder
	for _, name := range names {
		fmt.Fprintf(&about, "\n- %s: %s", name, helpers[name].Description)
	}
	kinds, err := json.Marshal(names)
	if err != nil {
		panic(err) // strings always encode
	}
	return &toolSpec{
		taskTool, "Have a subagent do a task and report. It begins without our conversation: the prompt must say everything that it has to know, and what to report. " +
			"Several in one answer work at the same time. The kinds are:" + about.String(),
		json.RawMessage(`{"type":"object","properties":{"description":{"type":"string","description":"the task in a few words"},"prompt":{"type":"string"},` +
			`"subagent_type":{"type":"string","enum":` + string(kinds) + `},"model":{"type":"string","description":"PROVIDER/MODEL; yours if it is left out"}},` +
			`"required":["description","prompt"],"additionalProperties":false}`),
	}
}
