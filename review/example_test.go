package review_test

import (
	"fmt"

	"github.com/terret-dev/terret/review"
)

// The templates that are built in; a file of one's own is read by Parse.
func ExampleLoad() {
	for _, name := range review.Names() {
		t, err := review.Load(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.Name)
	}
	own, err := review.Parse("docs.yaml", []byte("name: docs\nprompt: |\n  Is the English plain?\n  {{diff}}\n"))
	fmt.Println(own.Name, err)
	// Output:
	// code
	// plan
	// security
	// tasks
	// docs <nil>
}
