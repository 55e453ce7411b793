package shellread

import "strings"

// Form is what a reader has read, in an order and a spelling that do not depend
// on the reader. Two forms are equal if both readers saw the same words, operators
// and redirections in the same places.
type Form struct {
	tokens []byte
	bodies []byte // of here-documents, in their order
	last   byte   // mark of the text at the end of tokens, 0 if there is none
}

// newForm makes room for the form of a source of that length.
func newForm(source int) *Form { return &Form{tokens: make([]byte, 0, 2*source+32)} }

// Marks begin each token. They are control characters, which plain scripts do not
// hold; newline and tab are not among them.
const (
	markWord     = 0x01 // a word begins
	markAssign   = 0x02 // an assignment begins, the variable's name follows
	markText     = 0x03 // text outside quotes
	markQuoted   = 0x04 // text in quotes
	markVar      = 0x05 // a variable outside quotes
	markVarQuote = 0x06 // a variable in double quotes
	markSubst    = 0x07 // a substitution outside quotes begins
	markSubQuote = 0x08 // a substitution in double quotes begins
	markRedirect = 0x0b // a redirection; its descriptor and its operator follow
	markOperator = 0x0c // a keyword or an operator; its name follows
)

// names are how String shows the marks.
var names = map[byte]string{
	markWord: " ", markAssign: " set:", markText: "", markQuoted: "'", markVar: "$", markVarQuote: "\"$",
	markSubst: "$(", markSubQuote: "\"$(", markRedirect: " redirect:", markOperator: " ",
}

// String shows the form to people who look for a difference.
func (f *Form) String() string {
	var b strings.Builder
	for _, c := range f.tokens {
		if name, ok := names[c]; ok {
			b.WriteString(name)
			continue
		}
		b.WriteByte(c)
	}
	if len(f.bodies) > 0 {
		b.WriteString(" <<" + strings.ReplaceAll(string(f.bodies), "\x01", "|"))
	}
	return b.String()
}

func (f *Form) equal(g *Form) bool {
	return string(f.tokens) == string(g.tokens) && string(f.bodies) == string(g.bodies)
}

// token writes a mark and its text.
func (f *Form) token(mark byte, text string) {
	f.tokens = append(append(f.tokens, mark), text...)
	f.last = 0
}

// text writes text of a word. Pieces of one kind become one, so that it does not
// matter how a reader cuts them.
func (f *Form) text(mark byte, s string) {
	if f.last != mark {
		f.tokens = append(f.tokens, mark)
		f.last = mark
	}
	f.tokens = append(f.tokens, s...)
}

func (f *Form) operator(name string) { f.token(markOperator, name) }

// body writes the text of a here-document.
func (f *Form) body(text string) {
	f.bodies = append(append(f.bodies, markWord), text...)
}

// variable writes an expansion: the name, and what is done to its value.
func (f *Form) variable(quoted bool, name, operator, text string) {
	mark := byte(markVar)
	if quoted {
		mark = markVarQuote
	}
	f.token(mark, name)
	if operator != "" {
		f.operator(operator)
		f.token(markQuoted, text)
	}
}

// substitution opens a substitution. It ends with the operator ).
func (f *Form) substitution(quoted bool, kind string) {
	mark := byte(markSubst)
	if quoted {
		mark = markSubQuote
	}
	f.token(mark, kind)
}
