package sim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/test/sim"
)

// TestParseErrors holds that mistakes are named with their place.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "test.yaml:1:1: the file must hold exactly one YAML document"},
		{"a: 1\n---\nb: 2\n", "the file must hold exactly one YAML document"},
		{"- 1", "expected a mapping"},
		{"just text", "expected a mapping"},
		{"steps: []", "test.yaml:1:8: a scenario needs steps"},
		{"conversations: shared", "a scenario needs steps"},
		{"steps:\n  - answer: {text: hi}\n    foo: 1\n", `test.yaml:3:5: unknown field "foo"`},
		{"steps:\n  - answer: {txt: hi}\n", `test.yaml:2:14: unknown field "txt"`},
		{"steps:\n  - answer: {text: hi, error: {state: 3}}\n", `test.yaml:2:32: unknown field "state"`},
		{"steps: [", "test.yaml:1:8: "},
		{"steps:\n  - answer: {text: a, text: b}\n", "test.yaml:2:23: "},
		{"steps: 3", "test.yaml:1:8: "},
		{"steps:\n  - answer: {text: [a]}\n", "test.yaml:2:20: this is "},
		{"steps:\n  - answer: {usage: {input: many}}\n", "test.yaml:2:29: this is string, expected int"},
		{"steps:\n  - answer: &a {text: hi}\n  - answer: *a\n", "test.yaml:2:13: anchors, aliases and tags are not allowed"},
		{"conversations: maybe\nsteps:\n  - answer: {text: hi}\n", `test.yaml:1:16: "maybe" is not a way to tell conversations apart`},
		{"side_calls: maybe\nsteps:\n  - answer: {text: hi}\n", `test.yaml:1:13: "maybe"`},
		{"side_calls: steps\nsteps:\n  - {side: true, answer: {text: hi}}\n", "test.yaml:3:12: with side_calls: steps"},
		{"steps:\n  - match: {user: hi}\n", "an answer needs one of"},
		{"steps:\n  - answer: {}\n", "test.yaml:2:13: an answer needs one of"},
		{"steps:\n  - answer: {text: hi}\n    match: {user: /(/}\n", "test.yaml:3:19: /(/ is not a regular expression"},
		{"steps:\n  - answer: {text: hi}\n    match: {user: a, any: true}\n", "test.yaml:3:27: any and user contradict"},
		{"steps:\n  - answer: {text: hi}\n    match: {user: '{{last}}'}\n", "test.yaml:3:19: {{last}}"},
		{"steps:\n  - answer: {text: hi}\n    match: {user: '/(?P<last>a)/'}\n", "hides {{last}}"},
		{"steps:\n  - answer: {text: hi}\n    repeat: often\n", `test.yaml:3:13: "often" must be a positive`},
		{"steps:\n  - answer: {text: hi}\n    repeat: 0\n", "test.yaml:3:13: "},
		{"steps:\n  - {answer: {text: hi}, repeat: forever}\n  - answer: {text: ho}\n", "test.yaml:3:5: this step is never reached: step 1 (test.yaml:2:5) repeats forever"},
		{"steps:\n  - answer: {text: hi, delay: 20}\n", `test.yaml:2:31: "20" is not a duration`},
		{"steps:\n  - answer: {text: hi, wait: -1s}\n", "is not a duration"},
		{"steps:\n  - answer: {error: {status: 200}}\n", "test.yaml:2:30: an error needs a status"},
		{"steps:\n  - answer: {error: {message: x}}\n", "an error needs a status"},
		{"steps:\n  - answer: {error: {status: 429, retry_after: 3}}\n", `"3" is not a duration`},
		{"steps:\n  - answer: {drop: after}\n", `test.yaml:2:20: "after" is not a place`},
		{"steps:\n  - answer: {text: hi, drop: before}\n", "nothing is said"},
		{"steps:\n  - answer: {drop: mid, error: {status: 500}}\n", "contradict each other"},
		{"steps:\n  - answer: {text: hi, garbage: x, error: {status: 500}}\n", "garbage is the body of an error only if"},
		{"steps:\n  - answer: {text: hi, pieces: [a]}\n", "pieces are the whole text"},
		{"steps:\n  - answer: {refuse: no, text: yes}\n", "a refusal must have no other text"},
		{"steps:\n  - answer: {text: a, signature: b}\n", "no thinking to sign"},
		{"steps:\n  - answer: {drop: before, hold: x}\n", "nothing to hold back"},
		{"steps:\n  - answer: {text: a, chunk: -1}\n", "must not be negative"},
		{"steps:\n  - answer: {text: a, usage: {output: -1}}\n", "usage must not be negative"},
		{"steps:\n  - answer: {text: aaaaaaaa, times: 1000000000}\n", "longer than"},
		{"steps:\n  - answer: {tools: [{input: {a: 1}}]}\n", "test.yaml:2:22: a tool call needs a name, or do"},
		{"steps:\n  - answer: {tools: [{name: a, do: shell}]}\n", "test.yaml:2:36: name and do contradict each other"},
		{"steps:\n  - answer: {tools: [{do: dance}]}\n", `test.yaml:2:27: "dance" is not something to do; use one of edit, read, shell, write`},
		{"steps:\n  - answer: {tools: [{do: shell}]}\n", "to do shell takes the texts command"},
		{"steps:\n  - answer: {tools: [{do: shell, input: {command: 3}}]}\n", "test.yaml:2:41: to do shell takes the texts command"},
		{"steps:\n  - answer: {tools: [{do: read, input: {path: a, more: b}}]}\n", "to do read takes the texts path"},
		{"steps:\n  - answer: {tools: [{name: a, input: {a: .inf}}]}\n", "cannot be written as JSON"},
		{"steps:\n  - answer: {tools: [{name: a, input: [1]}]}\n", "test.yaml:2:39: "},
		{strings.Repeat("#", 2<<20), "must not be longer than"},
	} {
		_, err := sim.Parse("test.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "test.yaml") {
			t.Errorf("%.80s\n\tgot  %v\n\twant %s", c.text, err, c.want)
		}
	}
}

// TestParseDeep holds that hostile nesting is refused and not fatal.
func TestParseDeep(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("[", 1<<14), strings.Repeat("- ", 1<<12), strings.Repeat("{a: ", 1<<12)} {
		if _, err := sim.Parse("test.yaml", []byte(text)); err == nil {
			t.Errorf("%.10s… was read", text)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		s, err := sim.Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name() != filepath.Base(path) {
			t.Errorf("%s is called %s", path, s.Name())
		}
		if _, err := sim.NewPlayer(s, map[string]string{"dir": "/tmp"}); err != nil {
			t.Error(err)
		}
	}
	if _, err := sim.Load("testdata/nosuch.yaml"); err == nil || !strings.Contains(err.Error(), "nosuch.yaml") {
		t.Error(err)
	}
}

func TestVariablesAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		vars map[string]string
		want string
	}{
		{"{answer: {text: '{{dir}}'}}", nil, "step 1 (test.yaml:2:5): {{dir}} has no value; use one of last, open"},
		{"{answer: {tools: [{name: a, input: {b: [{c: '{{ dir }}'}]}}]}}", nil, "{{dir}} has no value"},
		{"{answer: {error: {status: 500, message: '{{dir}}'}}}", nil, "{{dir}} has no value"},
		{"{answer: {text: a}, match: {user: '{{dir}}'}}", nil, "{{dir}} has no value"},
		{"{answer: {text: a}}", map[string]string{"last": "x"}, `"last" cannot be a variable name`},
		{"{answer: {text: a}}", map[string]string{"a-b": "x"}, `"a-b" cannot be`},
		{"{answer: {text: '{{dir}} {{open}}x}} {{ {{}} {{1}}'}}", map[string]string{"dir": "x"}, ""},
		{"{answer: {text: '{{g}}'}, match: {user: '/(?P<g>a)/'}}", nil, ""},
	} {
		_, err := sim.NewPlayer(parse(t, "steps:\n  - "+c.text+"\n"), c.vars)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s\n\tgot  %v\n\twant %s", c.text, err, c.want)
		}
	}
}
