package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	notebookLimit = 10 << 20 // bytes of a notebook
	outputShown   = 10_000   // characters of the output of a cell
)

// joined is a text that a notebook may hold in pieces.
type joined string

// UnmarshalJSON implements json.Unmarshaler. What is not text becomes nothing.
func (j *joined) UnmarshalJSON(b []byte) error {
	var one string
	var list []string
	if json.Unmarshal(b, &one) == nil {
		*j = joined(one)
	} else if json.Unmarshal(b, &list) == nil {
		*j = joined(strings.Join(list, ""))
	}
	return nil
}

type notebook struct {
	Cells []struct {
		Type    string `json:"cell_type"`
		Source  joined `json:"source"`
		Outputs []struct {
			Text  joined            `json:"text"`
			Data  map[string]joined `json:"data"`
			Name  string            `json:"ename"`
			Value string            `json:"evalue"`
		} `json:"outputs"`
	} `json:"cells"`
}

// asNotebook is a notebook as text: its cells and what they printed. It reports false for
// a file that is none, of which nothing was used.
func asNotebook(path string, f *os.File) (string, bool, error) {
	if !strings.EqualFold(filepath.Ext(path), ".ipynb") {
		return "", false, nil
	}
	content, err := io.ReadAll(io.LimitReader(f, notebookLimit+1))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	var n notebook
	if err != nil || len(content) > notebookLimit || json.Unmarshal(content, &n) != nil || n.Cells == nil {
		return "", false, err
	}
	var out strings.Builder
	for i, c := range n.Cells {
		fmt.Fprintf(&out, "[cell %d: %s]\n%s\n", i+1, plain(c.Type), strings.TrimSuffix(string(c.Source), "\n"))
		for _, o := range c.Outputs {
			text := string(o.Text) + string(o.Data["text/plain"])
			if o.Name != "" {
				text += o.Name + ": " + o.Value
			}
			for kind := range o.Data {
				if strings.HasPrefix(kind, "image/") {
					text += "[an image, which is not shown]"
				}
			}
			if text = strings.TrimSpace(clean([]byte(text))); text != "" {
				fmt.Fprintf(&out, "[output of cell %d]\n%s\n", i+1, cutEnd(text, outputShown, "…"))
			}
		}
	}
	return out.String(), true, nil
}
