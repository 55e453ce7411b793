package native

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestDemoUnderstands(t *testing.T) {
	t.Parallel()
	type in = map[string]any
	list, help := in{"pattern": "**/*"}, "help"
	for _, c := range []struct {
		text string
		tool string
		in   in
	}{
		{"list files", "Glob", list},
		{"List files.", "Glob", list},
		{"  LIST ALL FILES!  ", "Glob", list},
		{"please list the files?", "Glob", list},
		{"list files in src", "Glob", in{"pattern": "**/*", "path": "src"}},
		{"list files in ..", "Glob", in{"pattern": "**/*", "path": ".."}},
		{"read a.txt", "Read", in{"file_path": "a.txt"}},
		{"Read a.txt.", "Read", in{"file_path": "a.txt"}},
		{"show the file my notes.txt", "Read", in{"file_path": "my notes.txt"}},
		{"open \"a b.txt\".", "Read", in{"file_path": "a b.txt"}},
		{"read ../x", "Read", in{"file_path": "../x"}},
		{"search for TODO", "Grep", in{"pattern": "TODO", "output_mode": "content"}},
		{"Search for a.b (c)", "Grep", in{"pattern": `a\.b \(c\)`, "output_mode": "content"}},
		{"search for `x y` in src", "Grep", in{"pattern": "x y", "output_mode": "content", "path": "src"}},
		{"create a.txt containing Hello.", "Write", in{"file_path": "a.txt", "content": "Hello.\n"}},
		{"Write a file a.txt with x\n y!", "Write", in{"file_path": "a.txt", "content": "x\n y!\n"}},
		{"create \"a b\" containing c containing d", "Write", in{"file_path": "a b", "content": "c containing d\n"}},
		{"replace a with b in f.go", "Edit", in{"file_path": "f.go", "old_string": "a", "new_string": "b", "replace_all": true}},
		{"Replace \"x y\" with \"z.\" in f.go.", "Edit", in{"file_path": "f.go", "old_string": "x y", "new_string": "z.", "replace_all": true}},
		{"run: echo hi.", "Bash", in{"command": "echo hi."}},
		{"RUN:ls -l | wc", "Bash", in{"command": "ls -l | wc"}},
		{"run: a\nb", "Bash", in{"command": "a\nb"}},
		{"ask me", "Ask", nil},
		{"Ask me something!", "Ask", nil},
		{"make a plan", "Plan", nil},
		{"Make a plan, please.", "Plan", nil},
		{"fail", "fail", nil},
		{"Fail!", "fail", nil},
		{"failure", help, nil},
		{"hello", help, nil},
		{"what is this?", help, nil},
		{"", help, nil},
		{"read", help, nil},
		{"create a.txt", help, nil},
		{"asking me", help, nil},
	} {
		got := demoRequests(c.text)
		if len(got) != 1 {
			t.Errorf("%q: %d requests", c.text, len(got))
			continue
		}
		tool := got[0].tool
		switch {
		case got[0].fail:
			tool = "fail"
		case got[0].say != "":
			tool = help
			if !strings.HasSuffix(got[0].say, demoHelp) {
				t.Errorf("%q: says %q", c.text, got[0].say)
			}
		}
		if tool != c.tool {
			t.Errorf("%q: %s, want %s", c.text, tool, c.tool)
		}
		if diff := cmp.Diff(c.in, got[0].input); c.in != nil && diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

func TestDemoJoins(t *testing.T) {
	t.Parallel()
	var tools []string
	for _, r := range demoRequests("hello, then list files, and then read a.txt, THEN run: date") {
		tools = append(tools, r.tool)
	}
	if diff := cmp.Diff([]string{"", "Glob", "Read", "Bash"}, tools); diff != "" {
		t.Error(diff)
	}
}

func TestDemoHelpNamesEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range []string{
		"`list files`", "`read FILE`", "`search for TEXT`", "`create FILE containing TEXT`", "`replace A with B in FILE`",
		"`run: COMMAND`", "`ask me`", "`make a plan`", "`fail`", "`, then`", anthropicKey,
	} {
		if !strings.Contains(demoHelp, form) {
			t.Errorf("the help does not name %s", form)
		}
	}
}

// play lets the demo model answer, and its tools give ok, until it is done.
func play(t *testing.T, prompt string) ([]message, error) {
	t.Helper()
	conversation := []message{{role: terret.RoleUser, blocks: []terret.Block{terret.Text(prompt)}}}
	for range 20 {
		var streamed string
		r, err := demo{}.generate(t.Context(), query{messages: conversation}, func(p piece) error {
			streamed += p.text
			return nil
		})
		if err != nil {
			return conversation, err
		}
		if text := terret.TextOf(r.blocks); text != streamed {
			t.Errorf("said %q, streamed %q", text, streamed)
		}
		conversation = append(conversation, message{role: terret.RoleAssistant, blocks: r.blocks})
		calls := callsIn(r.blocks)
		if len(calls) == 0 {
			return conversation, nil
		}
		conversation = append(conversation, message{role: terret.RoleUser, blocks: []terret.Block{resultOf(calls[0], "ok", false)}})
	}
	t.Fatal("it goes on and on")
	return nil, nil
}

func TestDemoIsDeterministicAndSaysAll(t *testing.T) {
	t.Parallel()
	const prompt = "hello, then list files, then what, then run: date, then hi"
	one, err := play(t, prompt)
	if err != nil {
		t.Fatal(err)
	}
	two, err := play(t, prompt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two, cmp.AllowUnexported(message{})); diff != "" {
		t.Error(diff)
	}
	var order []string
	for _, m := range one[1:] {
		for _, b := range m.blocks {
			switch b.Type {
			case terret.BlockToolUse:
				order = append(order, b.Name)
			case terret.BlockText:
				order = append(order, strings.Repeat("help ", strings.Count(b.Text, demoHelp))+strings.Repeat("result", strings.Count(b.Text, "ok\n")))
			default:
			}
		}
	}
	if diff := cmp.Diff([]string{"help ", "Glob", "help result", "Bash", "help result"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestDemoFailsWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	got, err := play(t, "list files, then fail, then read a")
	if e := terret.AsError(err); e == nil || e.Code != terret.CodeModelError || e.Retryable {
		t.Errorf("error %+v", err)
	}
	if len(got) != 3 {
		t.Errorf("%d messages before it", len(got))
	}
}

func TestDemoStopsWhenTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	said := 0
	_, err := demo{}.generate(ctx, query{messages: []message{{role: terret.RoleUser, blocks: []terret.Block{terret.Text("hello")}}}}, func(piece) error {
		if said++; said == 3 {
			cancel(terret.ErrInterrupted)
		}
		return nil
	})
	if said != 3 || terret.AsError(err).Code != terret.CodeInterrupted {
		t.Errorf("%d pieces, %v", said, err)
	}
}

func TestDemoStreamsLongTextsInFewPieces(t *testing.T) {
	t.Parallel()
	pieces := 0
	d := demoVoice{ctx: t.Context(), sink: func(piece) error { pieces++; return nil }}
	d.say(strings.Repeat("a word ", 10_000))
	if pieces > demoPieces+1 {
		t.Errorf("%d pieces", pieces)
	}
}

func TestDemoState(t *testing.T) {
	t.Parallel()
	user := func(b ...terret.Block) message { return message{role: terret.RoleUser, blocks: b} }
	call := terret.Block{ToolID: "1"}
	image := terret.Block{Type: terret.BlockImage, MediaType: "image/png"}
	for name, c := range map[string]struct {
		in   []message
		text string
		done int
	}{
		"a prompt":             {[]message{user(terret.Text("a"))}, "a", 0},
		"a result":             {[]message{user(terret.Text("a")), user(resultOf(call, "x", false))}, "a", 1},
		"a prompt behind one":  {[]message{user(terret.Text("a")), user(resultOf(call, "x", false), terret.Text("b"))}, "b", 0},
		"an image and nothing": {[]message{user(terret.Text("a")), user(image)}, "", 0},
	} {
		if text, done, _ := demoState(c.in); text != c.text || done != c.done {
			t.Errorf("%s: %q, %d", name, text, done)
		}
	}
}

func TestDemoReportKeepsFencesWhole(t *testing.T) {
	t.Parallel()
	got := demoReport(request{tool: "Bash"}, resultOf(terret.Block{}, "a\n```\nb", false))
	if want := "````\na\n```\nb\n````"; got != want {
		t.Errorf("%q", got)
	}
}
