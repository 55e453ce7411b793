//go:build !linux

package access

var children map[string]func(args []string) int
