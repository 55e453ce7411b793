package persona

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// Bounds on a system prompt.
const (
	// maxTokens bounds a system prompt. We estimate four characters per token.
	maxTokens     = 16_000
	charsPerToken = 4
	// maxContext is how many bytes of README.md and of AGENTS.md are used.
	maxContext = 4 << 10
)

// product is the name in the prompt, unless another is set.
const product = "Terret"

// modeTexts tell the agent how it is being used.
var modeTexts = map[terret.Mode]string{
	terret.ModeWorkbench: "Interactive workbench mode. Engage conversationally. Explain your reasoning. Ask for clarification when needed.",
	terret.ModePipeline:  "Pipeline execution mode. Execute the task efficiently with minimal interaction. Report results concisely.",
	terret.ModeDirect:    "Direct terminal mode. Execute commands as requested. Minimal commentary.",
}

// PromptRequest says what a system prompt is for.
type PromptRequest struct {
	Dir     string // the project's folder
	Persona *terret.Persona
	Mode    terret.Mode // empty means direct
	Product string      // empty means Terret
	Append  string      // a person's own text; comes last
}

// Prompt is a system prompt.
type Prompt struct {
	Text   string
	Tokens int      // an estimate
	Notes  []string // what was omitted or cut, and why
}

// Prompt composes a system prompt to append to the agent's own: the product and the
// folder, README.md and AGENTS.md of the project, the persona's file, the mode's text,
// and the person's text. If that is too long, it cuts the persona's file first, then
// AGENTS.md, then README.md, and nothing else.
func (l *Library) Prompt(r PromptRequest) (Prompt, error) {
	if r.Mode == "" {
		r.Mode = terret.ModeDirect
	}
	if err := r.Mode.Validate(); err != nil {
		return Prompt{}, err
	}
	if r.Product == "" {
		r.Product = product
	}
	root, err := open(r.Dir)
	if err != nil {
		return Prompt{}, err
	}
	defer func() { _ = root.Close() }()
	var notes []string
	parts := promptParts{
		base: fmt.Sprintf("You are operating within %s.\nProject root: %s\nMode: %s", r.Product, onOneLine(root.Name()), r.Mode),
		mode: modeTexts[r.Mode],
		own:  strings.TrimSpace(r.Append),
	}
	for _, name := range []string{"README.md", "AGENTS.md"} {
		text, note := l.context(root, name)
		if note != "" {
			notes = append(notes, note)
		}
		parts.texts = append(parts.texts, section{"Contents of " + name + ":", name, text})
	}
	if r.Persona != nil {
		text, err := l.instructions(root, *r.Persona)
		if err != nil {
			return Prompt{}, err
		}
		file := r.Persona.SourceFile
		parts.texts = append(parts.texts, section{"Instructions of the persona " + r.Persona.ID + " (" + file + "):", file, text})
	}
	text, cuts, err := parts.join(maxTokens * charsPerToken)
	if err != nil {
		return Prompt{}, err
	}
	tokens := (utf8.RuneCountInString(text) + charsPerToken - 1) / charsPerToken
	return Prompt{Text: text, Tokens: tokens, Notes: append(notes, cuts...)}, nil
}

// onOneLine keeps a folder's name from breaking out of its line.
func onOneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(name)
	}
	return name
}

// context is the beginning of a file that describes the project, or empty.
func (l *Library) context(root *os.Root, name string) (text, note string) {
	content, more, err := l.read(root, name, maxContext)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ""
	}
	if err != nil {
		return "", name + " is omitted: " + err.Error()
	}
	if more {
		for n := 1; n < utf8.UTFMax && n <= len(content); n++ { // not in the middle of a character
			if last := content[len(content)-n:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					content = content[:len(content)-n]
				}
				break
			}
		}
		note = fmt.Sprintf("%s is cut to its first %d KB", name, maxContext>>10)
	}
	return readable(string(content)), note
}

// readable makes valid text of arbitrary bytes.
func readable(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\uFEFF"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// instructions is the persona's whole file.
func (l *Library) instructions(root *os.Root, p terret.Persona) (string, error) {
	name, isPersona := strings.CutPrefix(path.Base(p.SourceFile), prefix)
	if p.SourceFile != path.Join(folder, prefix+name) || !isPersona || !strings.HasSuffix(name, suffix) {
		return "", terret.Invalid("persona", "%q is not a persona file", p.SourceFile)
	}
	_, doc, err := l.persona(root, p.SourceFile, p.ID)
	return strings.TrimSpace(doc.Text), err
}

// section is a file in the prompt.
type section struct{ head, file, text string }

// promptParts are the parts of a prompt.
type promptParts struct {
	base, mode, own string
	texts           []section // cut from the last one
}

const (
	between = "\n\n"
	cutMark = "\n[cut: the rest is too long]"
)

// join joins the parts in at most that many characters.
func (p promptParts) join(limit int) (text string, cuts []string, err error) {
	size := utf8.RuneCountInString
	left := limit - size(p.base) - size(between) - size(p.mode)
	if p.own != "" {
		left -= size(between) + size(p.own)
	}
	if left < 0 {
		return "", nil, terret.Invalid("system_append", "the text is too long: a system prompt may have at most %d characters", limit)
	}
	all := []string{p.base}
	for _, s := range p.texts {
		if s.text == "" {
			continue
		}
		whole := s.head + between + s.text
		room := left - size(between)
		switch {
		case size(whole) <= room:
		case room <= size(s.head)+size(between)+size(cutMark):
			cuts = append(cuts, s.file+" is omitted: the system prompt is too long")
			left = 0 // for the following ones too
			continue
		default:
			whole = string([]rune(whole)[:room-size(cutMark)]) + cutMark
			cuts = append(cuts, s.file+" is cut: the system prompt is too long")
		}
		all = append(all, whole)
		left = room - size(whole)
	}
	all = append(all, p.mode)
	if p.own != "" {
		all = append(all, p.own)
	}
	return strings.Join(all, between), cuts, nil
}
