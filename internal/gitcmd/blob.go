package gitcmd

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Digits is the length of an object id in our own git directories.
const Digits = 2 * sha1.Size

// Blob is a file as git would store it, without filters. Write all of its content to it,
// then ask for its id.
type Blob struct{ hash.Hash }

// NewBlob begins a file of that size, whose id has that many digits.
func NewBlob(digits int, size int64) Blob {
	b := Blob{sha1.New()}
	if digits == 2*sha256.Size {
		b.Hash = sha256.New()
	}
	fmt.Fprintf(b, "blob %d\x00", size)
	return b
}

// ID is the object id of what was written.
func (b Blob) ID() string { return hex.EncodeToString(b.Sum(nil)) }

// BlobID is the object id of content, of that many digits.
func BlobID(digits int, content []byte) string {
	b := NewBlob(digits, int64(len(content)))
	b.Write(content)
	return b.ID()
}
