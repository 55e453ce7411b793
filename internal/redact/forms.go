package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms lists the ways in which a value may be written, each of at least
// minLength bytes. The value itself comes first.
func forms(value string) []string {
	out := []string{value}
	for _, escape := range []func(string) string{jsonHTML, jsonPlain, jsonASCII, slashes} {
		once := escape(value)
		out = append(out, once, escape(once)) // JSON in JSON
	}
	out = append(out, url.PathEscape(value))
	for _, plain := range plainInURLs {
		out = append(out, inURL(value, plain, "%%%02X"), inURL(value, plain, "%%%02x"))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(value))
		out = append(out, padded, strings.TrimRight(padded, "="))
		for shift := range 3 {
			out = append(out, inside(encoding, value, shift))
		}
	}
	coded := hex.EncodeToString([]byte(value))
	return append(out, coded, strings.ToUpper(coded))
}

// inside is the part of a base64 text that depends on the value alone. Base64 codes
// three bytes at a time: shift is the number of bytes before the value, modulo three.
func inside(e *base64.Encoding, value string, shift int) string {
	coded := e.WithPadding(base64.NoPadding).EncodeToString([]byte("\x00\x00"[:shift] + value))
	first := (shift*8 + 5) / 6           // the first character of the value's bits alone
	last := (shift*8 + len(value)*8) / 6 // after the last one
	return coded[first:last]
}

// plainInURLs are the sets of characters, besides letters and digits, that programs leave as
// they are in URLs. A plus in front means that they write spaces so.
var plainInURLs = []string{
	"-_.~",                      // curl, RFC 3986
	"-_.~/",                     // Python's quote
	"+-_.~",                     // Python's quote_plus, Go
	"+-_.*",                     // URLSearchParams, Java
	"-_.!~*'()",                 // encodeURIComponent
	"-_.!~*'();/?:@&=$,#" + "+", // encodeURI
}

// inURL is the value with all but letters, digits and plain characters escaped.
func inURL(value, plain, escape string) string {
	plain, plus := strings.CutPrefix(plain, "+")
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c == ' ' && plus:
			b.WriteByte('+')
		case strings.IndexByte(alnum, c) >= 0, strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, escape, c)
		}
	}
	return b.String()
}

func jsonHTML(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b[1 : len(b)-1])
}

// jsonPlain escapes what must be escaped in JSON.
func jsonPlain(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(jsonHTML(s))
}

// slashes is JSON as PHP writes it.
func slashes(s string) string { return strings.ReplaceAll(jsonPlain(s), "/", `\/`) }

// jsonASCII is JSON as Python writes it.
func jsonASCII(s string) string {
	var b strings.Builder
	for _, c := range jsonPlain(s) {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
