package gitcmd_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/gitcmd"
)

func TestBlobID(t *testing.T) {
	t.Parallel()
	for format, digits := range map[string]int{"sha1": gitcmd.Digits, "sha256": 64} {
		dir := t.TempDir()
		if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--object-format="+format, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, content := range []string{"", "one\r\ntwo\n", strings.Repeat("x", 100_000)} {
			cmd := exec.CommandContext(t.Context(), "git", "hash-object", "--no-filters", "--stdin")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(content)
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := gitcmd.BlobID(digits, []byte(content)); got != strings.TrimSpace(string(want)) {
				t.Errorf("%s of %d bytes: %s, git says %s", format, len(content), got, want)
			}
		}
	}
}
