//go:build !unix

package trust

const nonBlocking = 0
