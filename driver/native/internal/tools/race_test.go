//go:build race

package tools

// gigabyte is less under the race detector, which makes the reader many times
// slower: 200 MB are as good to see that memory stays flat.
const gigabyte = 200_000_000
