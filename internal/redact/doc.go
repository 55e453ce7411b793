// Package redact keeps secrets out of what people and files get to see.
//
// A [Redactor] knows the values of secrets, and what well-known keys look like.
// It finds a value as it is, and as it stands in JSON, in URLs and in base64,
// and puts "[redacted:NAME]" in its place; a key whose value it does not know
// becomes "[redacted]".
//
//	r := redact.New(redact.FromEnv(os.Environ()))
//	log.Print(r.String(line))
//
// Text that arrives in pieces needs a [Stream], or a secret that is split over
// two of them comes out. Texts that are shown apart though they may belong
// together, such as lines that were cut, need [Pieces].
//
// What is not found: a value that was changed before it was shown (reversed,
// hashed, compressed, in hex, or in base64 with line breaks), and values of
// fewer than 8 bytes, which are too likely to be ordinary text.
package redact
