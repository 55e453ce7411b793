package review_test

import (
<<<<<<< HEAD
	"fmt"
=======
	"os"
>>>>>>> e94a23d (workflow, review, race: an example each)

	"github.com/terret-dev/terret/review"
)

<<<<<<< HEAD
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
=======
// A report can be written in several formats.
func ExampleReport_Write() {
	report := review.Report{
		Template: "code", Verdict: review.Fail, Summary: "It crashes.",
		Findings: []review.Finding{{Severity: "high", Category: "bug", File: "a.go", Line: 2, Message: "divides by zero", Verified: true}},
	}
	if err := report.Write(os.Stdout, "text"); err != nil {
		panic(err)
	}
	// Output:
	// FAIL
	// It crashes.
	//
	// a.go:2: high: bug
	//   divides by zero
>>>>>>> e94a23d (workflow, review, race: an example each)
}
