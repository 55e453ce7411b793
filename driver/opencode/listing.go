package opencode

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

var _ terret.ModelLister = (*Driver)(nil)

// Models implements terret.ModelLister. It asks the program by its own command, which
// takes some seconds.
func (d *Driver) Models(ctx context.Context) ([]terret.Model, error) {
	env, err := d.environ(d.cfg.Environ, false, terret.Settings{})
	if err != nil {
		return nil, err
	}
	said, code, err := program(d.cfg.Path, env).Ask(ctx, "models", "--verbose")
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, terret.Errorf(terret.CodeProcessFailed, "opencode models ended with code %d: %s", code, brief.Cut(said, 300))
	}
	return printedModels(said), nil
}

// printedModels reads what the program prints: for each model a line with its id, and what is
// known of it as JSON. A model of which that cannot be read is listed by its id.
func printedModels(said string) []terret.Model {
	var out []terret.Model
	about := ""
	end := func() {
		var m struct {
			Name  string
			Limit struct{ Context, Output int64 }

			Variants map[string]any
		}
		if len(out) > 0 && json.Unmarshal([]byte(about), &m) == nil {
			last := &out[len(out)-1]
			last.Name, last.Context, last.MaxOutput, last.Efforts = m.Name, m.Limit.Context, m.Limit.Output, slices.Sorted(maps.Keys(m.Variants))
		}
		about = ""
	}
	for line := range strings.Lines(said) {
		if line[0] == '{' || line[0] == '}' || line[0] == ' ' {
			about += line
			continue
		}
		end()
		if id := strings.TrimSpace(line); strings.Contains(id, "/") && !strings.Contains(id, " ") {
			out = append(out, terret.Model{ID: id})
		}
	}
	end()
	return out
}
