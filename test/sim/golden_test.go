package sim_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/test/sim"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the bytes of every kind of answer, streamed and whole.
func TestGolden(t *testing.T) {
	t.Parallel()
	hi := []message{user("hi")}
	for _, c := range []struct {
		name  string
		turns [][]message
	}{
		{"hello", [][]message{{user("hello")}}},
		{"tools", [][]message{{user("please make a file")}, {user("please make a file"), assistant("x"), result("File created.")}}},
		{"parallel", [][]message{hi}},
		{"thinking", [][]message{hi}},
		{"errors", [][]message{hi, hi, hi, hi, hi, hi, hi}},
		{"drop", [][]message{hi, hi, hi, hi}},
		{"refusal", [][]message{hi}},
		{"garbage", [][]message{hi, hi}},
	} {
		for _, d := range dialects {
			for _, mode := range []string{"stream", "whole"} {
				t.Run(c.name+"/"+d.name+"/"+mode, func(t *testing.T) {
					t.Parallel()
					srv, url := start(t, load(t, c.name), sim.Options{Vars: map[string]string{"dir": "/home/dev"}})
					var out strings.Builder
					for _, messages := range c.turns {
						path, body := d.ask(mode == "stream", messages...)
						dump(t, &out, url+path, body)
					}
					golden(t, d.name+"/"+c.name+"."+mode+".txt", out.String())
					if got := srv.Player().Unmatched(); len(got) > 0 {
						t.Error(got)
					}
					if got := srv.Player().Remaining(); len(got) > 0 {
						t.Error(got)
					}
				})
			}
		}
	}
}

// dump writes the answer as it came.
func dump(t *testing.T, out *strings.Builder, url string, body any) {
	t.Helper()
	res, data, err := post(t, client(t), url, body)
	fmt.Fprintln(out, "== answer")
	if res != nil {
		fmt.Fprintln(out, res.StatusCode)
		var names []string
		for name := range res.Header {
			if !slices.Contains([]string{"Date", "Content-Length"}, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(out, "%s: %s\n", name, res.Header.Get(name))
		}
		fmt.Fprintf(out, "\n%s\n", data)
	}
	if err != nil {
		reason := err.Error()
		fmt.Fprintln(out, "== broken:", reason[strings.LastIndex(reason, ": ")+1:])
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/golden/" + name
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got (go test ./test/sim -update writes it anew)\n%s", path, diff)
	}
}

// TestLongText is too long for a golden file.
func TestLongText(t *testing.T) {
	t.Parallel()
	_, url := start(t, load(t, "long"), sim.Options{})
	res, data, err := post(t, client(t), url+"/v1/messages", body(true, user("hi")))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	// 17 characters 4000 times, 1000 in a piece.
	if got := strings.Count(string(data), `"type":"text_delta"`); got != 68 {
		t.Errorf("%d pieces", got)
	}
}
