package review

import (
	"strings"
	"testing"
)

// TestDeletedFile holds that a finding about a file that is gone can be verified, and that
// lines of it do not pass for its head.
func TestDeletedFile(t *testing.T) {
	t.Parallel()
	c := parseDiff("diff --git a/old.sql b/old.sql\ndeleted file mode 100644\nindex 1..0\n--- a/old.sql\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- a comment\n-select 1;\n", DiffRule{})
	if len(c.files) != 1 || c.files[0].path != "old.sql" {
		t.Fatalf("%+v", c.files)
	}
	if !c.shows("old.sql", 1) || !c.shows("old.sql", 0) || c.shows("old.sql", 2) {
		t.Errorf("lines %v", c.files[0].lines)
	}
}

// TestLargeDiff holds that the cost of a diff grows with its size, not with its square.
func TestLargeDiff(t *testing.T) {
	const lines = 20_000
	text := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,20000 @@\n" + strings.Repeat("+x\n", lines)
	if n := testing.AllocsPerRun(1, func() { split(text) }); n > lines/100 {
		t.Errorf("%v allocations for %d lines", n, lines)
	}
	if parts := split("before\n" + text + text); len(parts) != 2 || parts[0] != text || parts[1] != text {
		t.Errorf("%d parts", len(parts))
	}
}
