package pi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"github.com/terret-dev/terret/driver/internal/seat"
)

//go:embed extension.js
var extensionSource []byte

// extensionName is the name of the extension's command, and of what it says and asks.
const extensionName = "terret"

// extension is the extension's file, which a process needs for as long as it lives.
type extension struct{ dir string }

func newExtension() (extension, error) {
	dir, err := os.MkdirTemp("", "terret-pi-")
	if err != nil {
		return extension{}, err
	}
	e := extension{dir}
	if err := os.WriteFile(e.path(), extensionSource, 0o600); err != nil {
		e.remove()
		return extension{}, err
	}
	return e, nil
}

func (e extension) path() string { return filepath.Join(e.dir, "terret.js") }

func (e extension) remove() { _ = os.RemoveAll(e.dir) } // what is left is harmless

// said is what the extension says.
type said struct {
	// Once, at the start.
	Hello   int      `json:"hello"`
	Cwd     string   `json:"cwd"`
	Tools   []string `json:"tools"`
	Version string   `json:"version"`
	// What the model gave as structured output.
	Structured json.RawMessage `json:"structured"`
	// The result of an operation.
	Re      string `json:"re"`
	Error   string `json:"error"`
	Missing bool   `json:"missing"`
	Leaf    string `json:"leaf"`
}

// asked is what the extension asks.
type asked struct {
	Gate         string          `json:"gate"` // tool, compact
	ID           string          `json:"id"`
	Tool         string          `json:"tool"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
}

// answer is what the extension is told.
type answer struct {
	Allow  bool            `json:"allow"`
	Reason string          `json:"reason,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"` // in place of the tool's
}

// operation is a line that has the extension do something. Its result has the same
// number.
func operation(re, op string, args object) string {
	all := object{"re": re, "op": op}
	maps.Copy(all, args)
	return "/" + extensionName + " " + string(seat.Encode(all))
}
