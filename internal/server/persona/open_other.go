//go:build !unix

package persona

const nonBlocking = 0
