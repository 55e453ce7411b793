package tools

import (
	"strings"
	"testing"
)

func TestNotebook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.ipynb", `{"cells":[{"cell_type":"markdown","source":["# Title\n","text"]},
		{"cell_type":"code","source":"print(1)","outputs":[{"text":["1\n"]},{"data":{"text/plain":"<Figure>","image/png":"AAAA"}},{"ename":"ValueError","evalue":"\u001b[31mno"}]}],"metadata":{}}`)
	want := strings.Join([]string{"[cell 1: markdown]", "# Title", "text", "[cell 2: code]", "print(1)", "[output of cell 2]", "1", "[output of cell 2]", "<Figure>[an image, which is not shown]", "[output of cell 2]", "ValueError: no"}, "\n")
	var got []string
	for line := range strings.Lines(b.works("Read", input{"file_path": "a.ipynb"}).Text) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		got = append(got, text)
	}
	wantText(t, want, strings.Join(got, "\n"))
	wantWords(t, b.works("Read", input{"file_path": "a.ipynb", "offset": 4, "limit": 1}).Text, "     4\t[cell 2: code]\n", "read on with offset 5")
	// What is no notebook is a text like any other.
	for name, content := range map[string]string{"b.ipynb": "not JSON\n", "c.ipynb": `{"cells":5}`, "d.ipynb": `{}`, "e.ipynb": `{"cells":[{"source":{"odd":1}}]}`} {
		b.write(name, content)
		b.works("Read", input{"file_path": name})
	}
	wantText(t, "     1\tnot JSON\n", b.works("Read", input{"file_path": "b.ipynb"}).Text)
	b.write("f.ipynb", "{\x00")
	b.fails(b.prepare("Read", input{"file_path": "f.ipynb"}), "binary file")
}
