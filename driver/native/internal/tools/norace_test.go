//go:build !race

package tools

const gigabyte = 1_000_000_000
