package tools

import "testing"

func TestEdits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("f", "one\r\ntwo\r\nthree\r\n")
	edit := func(edits ...input) input { return input{"file_path": "f", "edits": edits} }
	res := b.works("Edit", edit(
		input{"old_string": "one\ntwo", "new_string": "1\n2"},
		input{"old_string": "2", "new_string": "zwei\nzwei"}, // in what the first one left
		input{"old_string": "zwei", "new_string": "dos", "replace_all": true},
	))
	wantText(t, "1\r\ndos\r\ndos\r\nthree\r\n", b.read("f"))
	wantWords(t, res.Text, "4 occurrences replaced")
	before := b.read("f")
	b.refused("Edit", edit(input{"old_string": "1", "new_string": "one"}, input{"old_string": "nowhere", "new_string": "x"}), "edits[1]", "not found", "No change was made")
	b.refused("Edit", edit(input{"old_string": "1", "new_string": "one"}, input{"old_string": "dos", "new_string": "x"}), "edits[1]", "occurs 2 times")
	b.refused("Edit", input{"file_path": "f", "edits": []input{}}, "1 to 200 changes")
	b.refused("Edit", edit(input{"old_string": "", "new_string": "x"}), "edits[0]", "empty")
	b.refused("Edit", edit(input{"old_string": "1", "new_string": "x", "file_path": "/etc/passwd"}), "edits[0]", `no field "file_path"`)
	b.refused("Edit", input{"file_path": "f", "edits": "1"}, "must be a list")
	b.refused("Edit", input{"file_path": "f", "old_string": "1", "new_string": "2", "edits": []input{{"old_string": "1", "new_string": "3"}}}, "either edits")
	b.refused("Edit", input{"file_path": "f"}, `"old_string" is missing`)
	b.refused("Edit", edit(input{"old_string": "1", "new_string": "I"}, input{"old_string": "I", "new_string": "1"}), "change nothing")
	wantText(t, before, b.read("f"))
}

// TestStaleRead has somebody else change a file that the model has read.
func TestStaleRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.State = NewState()
	b.write("f", "one\n")
	edit := input{"file_path": "f", "old_string": "one", "new_string": "two"}
	b.works("Read", input{"file_path": "f"})
	b.write("f", "one and more\n")
	b.refused("Edit", edit, "has changed since you last read it")
	b.refused("Write", input{"file_path": "f", "content": "x"}, "has changed since you last read it")
	b.works("Read", input{"file_path": "f"})
	b.works("Edit", edit)
	b.works("Edit", input{"file_path": "f", "old_string": "two", "new_string": "three"}) // its own changes it knows
	b.link("f", "link")
	b.write("f", "four\n")
	b.refused("Edit", input{"file_path": "link", "old_string": "four", "new_string": "x"}, "has changed since")
	// What it has never read it may change: the text that it names must be there.
	b.write("g", "one\n")
	b.works("Edit", input{"file_path": "g", "old_string": "one", "new_string": "two"})
	// Another conversation has read nothing.
	b.State = b.State.Fork()
	b.works("Edit", input{"file_path": "f", "old_string": "four", "new_string": "five"})
}
