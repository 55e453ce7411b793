package review_test

import (
	"os"

	"github.com/terret-dev/terret/work/review"
)

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
}
