package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stateful is a bench whose calls have to do with each other.
func stateful(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.State = NewState()
	t.Cleanup(func() {
		if err := b.State.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// sh runs a command as the agent does, and returns what it printed.
func (b *bench) sh(command string, more ...string) string {
	b.Helper()
	in := map[string]any{"command": command}
	for i := 0; i < len(more); i += 2 {
		in[more[i]] = json.RawMessage(more[i+1])
	}
	tool, _ := Find("Bash")
	use, err := tool.Prepare(b.Context(), b.Env, b.State.Fill(b.Env, input(in).json()))
	if err != nil {
		return "refused: " + err.Error()
	}
	res, err := use.Run(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return res.Text
}

func TestBashGoesOn(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "sh"} {
		b := stateful(t)
		b.Shell = shell
		b.write("sub dir/x", "")
		wantText(t, "[no output]\n[the next command begins in "+b.path("sub dir")+"]", b.sh("cd 'sub dir'"))
		wantText(t, "x\n", b.sh("ls"))
		wantText(t, "1\n[exit code 3]", b.sh("export A=1 B='two\nlines'; echo $A; exit 3"))
		wantText(t, "1 two\nlines\n", b.sh(`echo "$A $B"`))
		wantText(t, "\n", b.sh(`unset A; not_exported=5; echo "$A"`))
		wantText(t, "- -\n", b.sh(`echo "$A- $not_exported-"`))
		wantText(t, "\n", b.sh(`echo $B`, "env", "[]"))
		wantText(t, b.Dir+"\n[the next command begins in "+b.Dir+"]", b.sh("pwd", "cwd", `"."`))
		wantWords(t, b.sh("cd /"), "/ is outside the session's folders", "begins in "+b.Dir+" again")
		wantText(t, b.Dir+"\n", b.sh("pwd"))
		// What ends the shell in another way changes nothing.
		b.sh("export C=1")
		b.sh("export C=2; kill -9 $$")
		b.sh("export C=3; exec true")
		wantText(t, "1\n", b.sh("echo $C"))
		// A shell's own files and arguments are not ours.
		wantText(t, "0\n", b.sh("echo $#"))
		wantText(t, "[no output]", b.sh("exec 3>f 7>g 9>h; true"))
		wantText(t, "", b.read("f")+b.read("h"))
		wantText(t, "[no output]", b.sh("cat"))
		// A folder that is gone is not begun in.
		b.sh("mkdir gone && cd gone")
		if err := os.Remove(b.path("gone")); err != nil {
			t.Fatal(err)
		}
		wantWords(t, b.sh("pwd"), b.Dir+"\n")
	}
}

// TestBashTellsWhatItTakesOver has whoever decides see where a command begins, and what
// earlier ones have exported. What nobody exported cannot be named.
func TestBashTellsWhatItTakesOver(t *testing.T) {
	t.Parallel()
	b := stateful(t)
	b.write("sub/x", "")
	b.sh("cd sub; export PATH=/evil:$PATH SECRET=s3cret; unset LANG")
	got := string(b.State.Fill(b.Env, json.RawMessage(` {"command":"ls"}`)))
	wantText(t, `{"cwd":"sub","env":["PATH","SECRET"],"command":"ls"}`, got)
	wantText(t, `{"cwd":"sub","env":["PATH","SECRET"]}`, string(b.State.Fill(b.Env, json.RawMessage(`{}`))))
	for _, bad := range []string{"", "null", "[]", `"x"`, "{"} {
		wantText(t, bad, string(b.State.Fill(b.Env, json.RawMessage(bad))))
	}
	for in, words := range map[string]string{
		`"/"`: "outside the session's folders", `"nowhere"`: "does not exist", `"sub/x"`: "not a folder", `5`: "must be a string", `"../.."`: "outside",
	} {
		if got := b.sh("true", "cwd", in); !strings.Contains(got, words) {
			t.Errorf("cwd %s: %s", in, got)
		}
	}
	wantWords(t, b.sh("true", "env", `["HOME"]`), "no earlier command has exported HOME")
	wantWords(t, b.sh("true", "env", `"PATH"`), "must be a list of strings")
	other := *b
	other.State = b.State.Fork()
	wantText(t, b.Dir+"\n", other.sh("echo $PWD $SECRET"))
	wantWords(t, b.sh("export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)"), "too much to be kept")
	// A link that leads out does not lead a command out.
	b.link("/", "out")
	wantWords(t, b.sh("cd "+b.path("out")), "outside the session's folders")
}

func TestBashKeepsAllOutput(t *testing.T) {
	t.Parallel()
	b := stateful(t)
	for _, lines := range []int{10_000, 200_000} {
		text := b.sh("seq " + itoa(lines))
		_, rest, ok := strings.Cut(text, "is in ")
		if !ok {
			t.Fatalf("nothing says where the output is: …%s", text[len(text)-200:])
		}
		path := strings.TrimSuffix(rest, "]")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(content), "\n"); got != lines {
			t.Errorf("%d of %d lines are there", got, lines)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(path) != b.State.Folder() {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if got := b.sh("echo short"); got != "short\n" {
		t.Errorf("%q", got)
	}
	dir := b.State.Folder()
	if err := b.State.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left", dir)
	}
}

func itoa(n int) string { return string(structured(n)) }
