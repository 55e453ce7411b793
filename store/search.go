package store

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// SaidKinds are the kinds of events that hold what a person or an agent said, as SQL. The indexes
// events_said have the same condition.
const SaidKinds = `('turn.start', 'user.prompt', 'message.complete', 'turn.error')`

// What is searched of a message, and the longest word that is told apart.
const (
	saidLimit = 256 << 10
	wordLimit = 64
)

// Said is a message as it is searched.
type Said struct {
	Turn, MessageID string
	Role            terret.Role
	Text            string
}

// SaidIn returns what a person or an agent says in an event, if anything. The text of a
// turn that failed is there too: it may be in no message.
func SaidIn(kind terret.Kind, body []byte) (Said, bool) {
	var e struct {
		Turn string
		Data struct {
			MessageID string `json:"message_id"`
			Role      terret.Role
			Prompt    []terret.Block
			Blocks    []terret.Block
			Text      string
		}
	}
	if json.Unmarshal(body, &e) != nil {
		return Said{}, false
	}
	said := Said{Turn: e.Turn, MessageID: e.Data.MessageID, Role: terret.RoleUser}
	switch kind {
	case terret.KindTurnStart:
		said.Text = terret.TextOf(e.Data.Prompt)
	case terret.KindUserPrompt:
		said.Text = terret.TextOf(e.Data.Blocks)
	case terret.KindMessageComplete:
		if e.Data.Role != terret.RoleAssistant { // results of tools
			return Said{}, false
		}
		said.Role, said.Text = e.Data.Role, terret.TextOf(e.Data.Blocks)
	case terret.KindTurnError:
		said.Role, said.Text = terret.RoleAssistant, e.Data.Text
	default:
		return Said{}, false
	}
	if len(said.Text) > saidLimit {
		said.Text = strings.ToValidUTF8(said.Text[:saidLimit], "")
	}
	return said, strings.TrimSpace(said.Text) != ""
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// Words are the words of a text, in lower case and each once.
func Words(text string) []string {
	seen := map[string]bool{}
	var out []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !inWord(r) }) {
		if utf8.RuneCountInString(word) > wordLimit {
			word = string([]rune(word)[:wordLimit])
		}
		if !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	return out
}

// SearchWords are the words to search for. It is an error if there are none, or more
// than anybody types.
func SearchWords(query string) ([]string, error) {
	words := Words(query)
	switch {
	case len(words) == 0:
		return nil, terret.Invalid("q", "no word to search for: a word is made of letters and digits")
	case len(words) > 32:
		return nil, terret.Invalid("q", "%d words are too many to search for; use at most 32", len(words))
	}
	return words, nil
}

// SearchPage returns how many messages to read, and the position to start before.
func SearchPage(q terret.SearchQuery) (limit int, before int64, err error) {
	limit, before = PageSize(q.Limit, 50, 200), 1<<62
	if q.Cursor != "" {
		if before, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil || before <= 0 {
			return 0, 0, BadCursor()
		}
	}
	return limit, before, nil
}

// What a snippet shows before the first word, and in all, in characters.
const (
	snippetBefore = 60
	snippetLength = 200
)

// Snippet is the part of a text around the first of the words, on one line.
func Snippet(text string, words []string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	at := firstWord(line, words)
	from := max(0, at-snippetBefore)
	if from > 0 && line[from-1] != ' ' { // begin with a whole word, where words have spaces between them
		from += slices.Index(line[from:at], ' ') + 1
	}
	to := min(len(line), from+snippetLength)
	out := string(line[from:to])
	if from > 0 {
		out = "… " + out
	}
	if to < len(line) {
		out += "…"
	}
	return out
}

// firstWord is where the first word begins that begins with one of the words, or 0.
func firstWord(line []rune, words []string) int {
	for i := range line {
		if !inWord(line[i]) || i > 0 && inWord(line[i-1]) {
			continue
		}
		for _, word := range words {
			n := utf8.RuneCountInString(word)
			if i+n <= len(line) && strings.ToLower(string(line[i:i+n])) == word {
				return i
			}
		}
	}
	return 0
}
