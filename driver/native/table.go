package native

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// builtInModels is what was known about models on the day that it names.
//
//go:embed models.json
var builtInModels []byte

// maxTable bounds the file of a user, in bytes.
const maxTable = 8 << 20

// table is what is known about models.
type table struct {
	Date   string          `json:"date"` // of the prices, such as 2026-11-15
	Models map[string]card `json:"models"`
}

// card is what is known about one model.
type card struct {
	Name     string `json:"name,omitempty"`    // as people know it
	Context  int64  `json:"context,omitempty"` // in tokens
	Thinking string `json:"thinking,omitempty"`
	// What the model can do; nil means that nobody knows, and it is tried.
	Tools  *bool `json:"tools,omitempty"`
	Images *bool `json:"images,omitempty"`
	Cache  *bool `json:"cache,omitempty"` // keeps prompts that it has read
	prices
	// AboveTokens is the length of a prompt from which other prices count; zero means
	// that there is none.
	AboveTokens int64  `json:"above_tokens,omitempty"`
	Above       prices `json:"above,omitzero"`
}

// How models are asked to think. Only Anthropic's know a budget.
const (
	thinkAdaptive = "adaptive" // as much as they see fit
	thinkBudget   = "budget"   // at most so many tokens
	thinkNone     = "none"     // they cannot
)

// prices are in dollars for a million tokens.
type prices struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read,omitempty"`  // zero means that of input
	CacheWrite float64 `json:"cache_write,omitempty"` // zero means that of input
}

// readTable returns what is known about models: what is built in, with the models of the
// user's file added, or in the place of those of the same name.
func readTable(path string) (table, error) {
	t, err := parseTable(builtInModels)
	if err != nil || path == "" {
		return t, err
	}
	own, err := tableFile(path)
	if err != nil {
		return table{}, terret.Invalid("prices", "cannot read %s: %w", path, err)
	}
	maps.Copy(t.Models, own.Models)
	if own.Date != "" {
		t.Date = own.Date
	}
	return t, nil
}

func tableFile(path string) (table, error) {
	f, err := os.Open(path) // the user names it
	if err != nil {
		return table{}, err
	}
	defer func() { _ = f.Close() }() // it is only read
	content, err := io.ReadAll(io.LimitReader(f, maxTable))
	if err != nil {
		return table{}, err
	}
	return parseTable(content)
}

func parseTable(content []byte) (table, error) {
	var t table
	if err := json.Unmarshal(content, &t); err != nil {
		return table{}, err
	}
	if t.Models == nil {
		t.Models = map[string]card{}
	}
	for _, id := range slices.Sorted(maps.Keys(t.Models)) {
		if err := t.Models[id].check(); err != nil {
			return table{}, fmt.Errorf("models.%s: %w", id, err)
		}
	}
	return t, nil
}

func (c card) check() error {
	for _, p := range []prices{c.prices, c.Above} {
		if min(p.Input, p.Output, p.CacheRead, p.CacheWrite) < 0 {
			return fmt.Errorf("a price must not be negative")
		}
	}
	if !slices.Contains([]string{"", thinkAdaptive, thinkBudget, thinkNone}, c.Thinking) {
		return fmt.Errorf("thinking is %q, which must be %s, %s or %s", c.Thinking, thinkAdaptive, thinkBudget, thinkNone)
	}
	return nil
}

// undated is the name of a model without the day that it is of, if it ends with one.
func undated(id string) string {
	for _, layout := range []string{"-20060102", "-2006-01-02"} {
		if at := len(id) - len(layout); at > 0 {
			if _, err := time.Parse(layout, id[at:]); err == nil {
				return id[:at]
			}
		}
	}
	return strings.TrimSuffix(id, "-latest")
}

// find returns what is known about a model, and whether anything is.
func (t table) find(id string) (card, bool) {
	provider, _, _ := strings.Cut(id, "/")
	for _, name := range []string{id, undated(id), provider + "/*"} {
		if c, ok := t.Models[name]; ok {
			return c, true
		}
	}
	return card{}, false
}

// of lists the models of a provider by name.
func (t table) of(provider string) []terret.Model {
	var out []terret.Model
	for _, id := range slices.Sorted(maps.Keys(t.Models)) {
		if rest, ok := strings.CutPrefix(id, provider+"/"); ok && rest != "*" {
			c := t.Models[id]
			if c.Name == "" {
				c.Name = rest
			}
			out = append(out, terret.Model{ID: id, Name: c.Name, Context: c.Context, Can: c.can()})
		}
	}
	return out
}

// cost is what a call with that usage costs. Models that think charge for it as output.
func (c card) cost(u terret.Usage) terret.Cost {
	p := c.prices
	if prompt := u.Input + u.CacheRead + u.CacheWrite; c.AboveTokens > 0 && prompt > c.AboveTokens {
		p = c.Above
	}
	if p.CacheRead == 0 {
		p.CacheRead = p.Input
	}
	if p.CacheWrite == 0 {
		p.CacheWrite = p.Input
	}
	count := func(n int64, price float64) float64 { return float64(max(n, 0)) * price }
	return terret.CostOf((count(u.Input, p.Input) + count(u.Output, p.Output) + count(u.CacheRead, p.CacheRead) + count(u.CacheWrite, p.CacheWrite)) / 1e6)
}
