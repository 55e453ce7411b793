package claude

import (
	"bytes"
	"encoding/json"
	"testing"
)

// BenchmarkTranslate takes in a recorded conversation, line by line.
func BenchmarkTranslate(b *testing.B) {
	for _, name := range []string{"v2_1_325_multi_turn", "v2_1_325_tool_allow"} {
		b.Run(name, func(b *testing.B) {
			var lines [][]byte
			size := 0
			for _, r := range loadRows(b, name) {
				var line bytes.Buffer
				if r.Dir == "out" && json.Compact(&line, r.Line) == nil { // as the agent writes it
					lines, size = append(lines, line.Bytes()), size+line.Len()
				}
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				t := newTranslator(options{replay: true, preToolHook: true})
				for _, line := range lines {
					t.translate(line, start)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/line")
		})
	}
}
