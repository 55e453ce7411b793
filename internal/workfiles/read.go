package workfiles

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

const (
	maxText  = 1 << 20 // bytes of a file that are shown
	maxImage = 8 << 20
	sniff    = 8000 // bytes that tell text from binary
)

// Content is what a file holds: text, an image, or neither.
type Content struct {
	Path       string      `json:"path"`
	Size       int64       `json:"size"`
	ModifiedAt terret.Time `json:"modified_at"`
	// Text is UTF-8. Bytes that are none became U+FFFD, and Encoding is empty then.
	Text     string `json:"text"`
	Encoding string `json:"encoding,omitempty"` // utf-8, utf-16le or utf-16be
	Binary   bool   `json:"binary,omitempty"`   // Text is empty
	// Media and Data are of an image: PNG, JPEG, GIF or WebP, and never SVG, which
	// is text and could hold a script.
	Media     string `json:"media,omitempty"`
	Data      []byte `json:"data,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // Text is the beginning only
}

// Read returns what is in a file, or its beginning if that is large.
func (f *Folder) Read(ctx context.Context, p string) (Content, error) {
	rel, err := local(p)
	if err != nil {
		return Content{}, err
	}
	file, info, err := f.open(rel)
	if err != nil {
		return Content{}, err
	}
	defer file.Close()
	if info.IsDir() {
		return Content{}, terret.Invalid("path", "%s is a folder, not a file", rel)
	}
	c := Content{Path: rel, Size: info.Size(), ModifiedAt: terret.TimeOf(info.ModTime())}
	raw, err := readUpTo(ctx, file, maxText+1)
	if err != nil {
		return Content{}, problem(rel, err)
	}
	if media := imageType(raw); media != "" {
		c.Binary, c.Media = true, media
		rest, err := readUpTo(ctx, file, maxImage+1-len(raw))
		if err != nil {
			return Content{}, problem(rel, err)
		}
		if raw = append(raw, rest...); len(raw) <= maxImage {
			c.Data = raw
		}
		return c, nil
	}
	c.Truncated = len(raw) > maxText
	raw = raw[:min(len(raw), maxText)]
	c.Text, c.Encoding, c.Binary = decode(raw, c.Truncated)
	return c, nil
}

// readUpTo reads at most n bytes, in pieces, until ctx ends.
func readUpTo(ctx context.Context, file *os.File, n int) ([]byte, error) {
	var out bytes.Buffer
	for out.Len() < n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := out.ReadFrom(io.LimitReader(file, int64(min(n-out.Len(), 256<<10))))
		if err != nil {
			return nil, err
		}
		if got == 0 {
			break
		}
	}
	return out.Bytes(), nil
}

// imageType names images that browsers show and that can hold no script.
func imageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// decode makes text of bytes. cut says that they are the beginning of more, so
// that a character at the end may be incomplete.
func decode(b []byte, cut bool) (text, encoding string, binary bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return decode16(b[2:], littleEndian), "utf-16le", false
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return decode16(b[2:], bigEndian), "utf-16be", false
	case isBinary(b):
		return "", "", true
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if cut {
		b = wholeRunes(b)
	}
	if utf8.Valid(b) {
		return string(b), "utf-8", false
	}
	return valid(string(b)), "", false
}

// wholeRunes drops the beginning of a character at the end.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

var (
	littleEndian = binary.LittleEndian.Uint16
	bigEndian    = binary.BigEndian.Uint16
)

func decode16(b []byte, unit func([]byte) uint16) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, unit(b))
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "\x00", "\uFFFD")
}

// isBinary reports whether the beginning of a file is not that of a text.
func isBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), sniff)], 0) >= 0 }
