package redact

import "strings"

// shape is what a well-known kind of key looks like: how it begins, and which
// and how many characters follow.
type shape struct {
	begin string
	keep  int // bytes of begin that are no secret
	class string
	min   int  // characters that follow at least
	exact bool // and at most
	// word says that the key must not begin in the middle of a word, as "sk-" does
	// in "task-force".
	word bool
	// mixed says that what follows must hold a digit, unless it is long: words do
	// not.
	mixed bool
}

const (
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	alnum    = capitals + "abcdefghijklmnopqrstuvwxyz"
	dashed   = alnum + "-_"
	token68  = dashed + ".~+/="
	maxTail  = 8 << 10 // characters that follow at most; the rest is taken for text
	maxBegin = 16      // at least the longest begin
	longTail = 40      // from here on it need not hold a digit
)

// shapes have a begin of three bytes or more. Classes that hold "-" hold "_" too,
// so that a key within a key does not end after it.
var shapes = []shape{
	{begin: "sk-ant-", class: dashed, min: 16},                         // Anthropic
	{begin: "sk-", class: dashed, min: 20, word: true, mixed: true},    // OpenAI and others
	{begin: "ghp_", class: alnum, min: 30},                             // GitHub, personal
	{begin: "gho_", class: alnum, min: 30},                             // GitHub, OAuth
	{begin: "ghu_", class: alnum, min: 30},                             // GitHub, user to server
	{begin: "ghs_", class: alnum, min: 30},                             // GitHub, server to server
	{begin: "ghr_", class: alnum, min: 30},                             // GitHub, refresh
	{begin: "github_pat_", class: alnum + "_", min: 22},                // GitHub, fine-grained
	{begin: "glpat-", class: dashed, min: 20},                          // GitLab
	{begin: "xoxb-", class: dashed, min: 10, mixed: true},              // Slack, bot
	{begin: "xoxp-", class: dashed, min: 10, mixed: true},              // Slack, user
	{begin: "AKIA", class: capitals, min: 16, exact: true, word: true}, // AWS
	{begin: "ASIA", class: capitals, min: 16, exact: true, word: true}, // AWS, temporary
	{begin: "AIza", class: dashed, min: 35, exact: true, word: true},   // Google
	{begin: "Bearer ", keep: 7, class: token68, min: 16, mixed: true},  // HTTP
	{begin: "bearer ", keep: 7, class: token68, min: 16, mixed: true},  // HTTP
}

// match says whether a key of the shape, whose first bytes are known to be at
// that place, is there, where it ends, and whether more text could change that.
func (h *shape) match(s string, at int, before string) (end int, ok, open bool) {
	if h.word && inWord(s[:at], before) {
		return 0, false, false
	}
	from, most := at+len(h.begin), maxTail
	if h.exact {
		most = h.min + 1
	}
	end = from
	digit := false
	for end < len(s) && end-from < most && strings.IndexByte(h.class, s[end]) >= 0 {
		digit = digit || s[end] >= '0' && s[end] <= '9'
		end++
	}
	n := end - from
	open = end == len(s) && n < most
	ok = n >= h.min && (!h.exact || n == h.min) && (!h.mixed || digit || n >= longTail)
	return end, ok, open
}

// inWord reports whether the text, with what came before it, ends with a letter
// or digit that is not part of an escape such as \n or \u003c.
func inWord(s, before string) bool {
	if len(s) < contextBytes {
		s = before + s
	}
	n := len(s)
	if n == 0 || strings.IndexByte(alnum, s[n-1]) < 0 {
		return false
	}
	short := n >= 2 && s[n-2] == '\\' && strings.IndexByte("bfnrt", s[n-1]) >= 0
	long := n >= 6 && s[n-6] == '\\' && s[n-5] == 'u'
	return !short && !long
}
