package native

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// skillTool gives the model the text of a skill.
const skillTool = "Skill"

// skill is a folder with a text that says how something is done, and files for it.
type skill struct {
	description string
	body        string
	dir         string
}

// skills are those in the user's folder and in a trusted project: folders with a file
// SKILL.md. Of those with the same name the last one counts.
func (a *agent) skills() map[string]skill {
	out := map[string]skill{}
	for _, f := range a.folders("skills") {
		texts := f.texts(2)
		for _, file := range sorted(texts) {
			dir, base := path.Split(file)
			if base != "SKILL" || dir == "" {
				continue
			}
			doc, err := yamlfile.Frontmatter(texts[file])
			if err != nil {
				continue
			}
			name, s := path.Clean(dir), skill{body: strings.TrimSpace(doc.Body), dir: f.holding(dir)}
			for _, field := range doc.Fields {
				switch field.Key {
				case "name":
					name = field.Text
				case "description":
					s.description = field.Text
				}
			}
			out[name] = s
		}
	}
	return out
}

// holding is where a path of texts is.
func (f folder) holding(rest string) string {
	for _, in := range slices.Backward(f.in) {
		dir := filepath.Join(f.dir, filepath.FromSlash(in), filepath.FromSlash(rest))
		if _, err := os.Stat(filepath.Join(dir, "SKILL.md")); err == nil {
			return dir
		}
	}
	return f.dir
}

// skillSpec is what a model is told about skills; nil if there are none.
func skillSpec(skills map[string]skill) *toolSpec {
	if len(skills) == 0 {
		return nil
	}
	names := sorted(skills)
	var about strings.Builder
	for _, name := range names {
		fmt.Fprintf(&about, "\n- %s: %s", name, skills[name].description)
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic(err) // strings always encode
	}
	return &toolSpec{
		skillTool, "Tells you how something is done here. Use it before you begin with what a skill is about. The skills are:" + about.String(),
		json.RawMessage(`{"type":"object","properties":{"skill":{"type":"string","enum":` + string(list) + `}},"required":["skill"],"additionalProperties":false}`),
	}
}

// learn returns the text of a skill.
func (u *use) learn(ctx context.Context) outcome {
	var in struct{ Skill string }
	wrong := readInput(skillTool, u.call.Input, &in)
	all := u.a.skills()
	s, ok := all[in.Skill]
	if wrong == "" && !ok {
		wrong = "there is no skill " + in.Skill + "; there are " + strings.Join(sorted(all), ", ")
	}
	if wrong != "" {
		return u.refuse(ctx, wrong)
	}
	d, allowed, err := u.permit(ctx, &tools.Use{Title: "Skill: " + firstLine(in.Skill), Paths: []string{s.dir}}, true)
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0)
	case !allowed:
		return u.denied(ctx, d)
	}
	return u.done(ctx, tools.Result{Text: "The files of this skill are in " + s.dir + ".\n\n" + s.body}, 0)
}
