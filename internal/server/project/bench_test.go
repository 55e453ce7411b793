package project_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// What four lines of the log cost when they come one by one, and when they come
// together.
func BenchmarkRecord(b *testing.B) {
	var data []terret.Data
	for range 4 {
		data = append(data, terret.ToolPre{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)})
	}
	for name, size := range map[string]int{"apart": 1, "together": 4} {
		b.Run(name, func(b *testing.B) {
			s := newSession(b)
			f := project.New(project.Options{})
			all := entries(b, s, data...)
			f.Record(s, nil) // saves the session's file
			for b.Loop() {
				for at := 0; at < len(all); at += size {
					f.Record(s, all[at:at+size])
				}
			}
		})
	}
}
