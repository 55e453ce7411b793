package draft_test

import (
	"fmt"

	"github.com/terret-dev/terret/tui/draft"
)

// A text is edited by the names of keys, as in a shell.
func Example() {
	d := draft.New([]string{"what was said before"})
	d.Insert("fix the tets")
	d.Press("cut to space")
	d.Insert("test")
	fmt.Println(d.Text)
	d.Press("undo")
	fmt.Println(d.Text)
	// Output:
	// fix the test
	// fix the
}
