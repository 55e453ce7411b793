package tools

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	similarScan = 2000 // names of a folder that are looked at
	similarMost = 3    // names that are suggested
)

// similar returns names in the folder that are close to name, closest first.
func similar(folder, name string) []string {
	f, err := os.OpenFile(folder, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(similarScan)
	type candidate struct {
		name string
		far  int
	}
	var close []candidate
	want := strings.ToLower(name)
	for _, n := range names {
		got := strings.ToLower(n)
		far := distance(want, got)
		if stem(want) == stem(got) {
			far = min(far, 1)
		}
		if far <= max(len(want)/3, 1) {
			close = append(close, candidate{plain(n), far})
		}
	}
	slices.SortFunc(close, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range close[:min(len(close), similarMost)] {
		out = append(out, c.name)
	}
	return out
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// distance is the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
