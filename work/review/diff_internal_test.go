package review

import "testing"

// TestDeletedFile holds that a finding about a file that is gone can be verified, and that
// lines of it do not pass for its head.
func TestDeletedFile(t *testing.T) {
	t.Parallel()
	c := parseDiff("diff --git a/old.sql b/old.sql\ndeleted file mode 100644\nindex 1..0\n--- a/old.sql\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- a comment\n-select 1;\n", DiffRule{})
	if len(c.files) != 1 || c.files[0].Path != "old.sql" {
		t.Fatalf("%+v", c.files)
	}
	if !c.shows("old.sql", 1) || !c.shows("old.sql", 0) || c.shows("old.sql", 2) {
		t.Errorf("lines %v", c.files[0].Lines)
	}
}
