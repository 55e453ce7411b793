// Package redact keeps secrets out of what people and files get to see.
//
// A [Redactor] knows the values of secrets, and what well-known keys look like. It
// finds a value as it is, and as it appears in JSON, in URLs, in base64 and in hex, and
// replaces it with "[redacted:NAME]"; a key whose value it does not know becomes
// "[redacted]".
//
//	r := redact.New(redact.FromEnv(os.Environ()))
//	log.Print(r.String(line))
//
// Text that arrives in pieces needs [Pieces], or a secret that is split over two of
// them would get through. The same goes for texts that are shown separately but may
// belong together, such as lines that were cut.
//
// Not found: a value that was changed before it was shown (reversed, hashed, compressed,
// in two halves, with something between its letters, or in base64 or hex with breaks), and
// values shorter than 8 bytes, which are too likely to be ordinary text.
package redact
