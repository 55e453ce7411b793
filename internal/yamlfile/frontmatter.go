package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// maxBlock bounds the block, in bytes.
const maxBlock = 16 << 10

// fence begins and ends the block.
const fence = "---"

// Field is one setting.
type Field struct {
	Key  string
	Line int // in the file, from 1
	// Text is a single value as it is written, without quotes.
	Text string
	// List is the value if it is a list, else nil.
	List []string
}

// Document is a Markdown file with settings at its head:
//
//	---
//	tools: Read, Grep
//	max_turns: 10
//	---
//	The text.
type Document struct {
	// Fields are the settings in the order of the file; nil if there is no block.
	Fields []Field
	// Text is the whole file, with plain line ends and without a byte order mark; Body
	// is what follows the block.
	Text, Body string
}

// LineError says what is wrong with a Markdown file, and where.
type LineError struct {
	Line    int // from 1
	Message string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

func failf(line int, format string, args ...any) *LineError {
	return &LineError{Line: line, Message: fmt.Sprintf(format, args...)}
}

// Frontmatter parses a Markdown file with settings at its head. They are restricted to keys
// with single values and lists of them, without anything that could hide a setting: no
// anchors, aliases, tags, nested values or duplicate keys. What looks like settings but is
// not is an error, so that a typo never turns settings into text. Its errors are of type
// *LineError.
func Frontmatter(content []byte) (Document, error) {
	text := string(bytes.TrimPrefix(content, []byte("\uFEFF")))
	if err := checkText(text); err != nil {
		return Document{}, err
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	doc := Document{Text: text, Body: text}
	lines := strings.SplitAfter(text, "\n")
	if strings.TrimRight(lines[0], " \t\n") != fence {
		return doc, almostFence(lines)
	}
	end := len(lines[0])
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t\n") == fence {
			fields, err := parseBlock(text[len(lines[0]):end])
			if err != nil {
				return Document{}, err
			}
			doc.Fields, doc.Body = fields, text[end+len(line):]
			return doc, nil
		}
		if end += len(line); end > maxBlock {
			return Document{}, failf(i+2, "the settings take more than %d KB", maxBlock>>10)
		}
	}
	return Document{}, failf(1, "the settings that begin here are not closed; write %s on its own line after them", fence)
}

// checkText rejects what is not text.
func checkText(text string) error {
	line := 1
	for i, r := range text {
		switch {
		case r == '\n':
			line++
		case r == 0:
			return failf(line, "it contains a NUL byte, so it is not text")
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return failf(line, "it is not UTF-8")
		}
	}
	return nil
}

// almostFence rejects a file that begins almost like a block.
func almostFence(lines []string) error {
	unseen := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	for i, line := range lines {
		start := strings.TrimLeftFunc(line, unseen)
		if start == "" {
			continue
		}
		if strings.HasPrefix(start, fence) {
			return failf(i+1, "settings must begin with %s, alone on the very first line", fence)
		}
		return nil
	}
	return nil
}

// parseBlock reads the YAML between the fences. It begins in the file's second line.
func parseBlock(block string) (fields []Field, err error) {
	for i, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, "...") || strings.HasPrefix(line, "%") || strings.HasPrefix(line, fence) {
			return nil, failf(i+2, "%q cannot stand here; write key: value", strings.TrimSpace(line))
		}
		if strings.ContainsRune(line, '\r') || strings.ContainsRune(line, '\uFEFF') {
			return nil, failf(i+2, "it contains invisible characters")
		}
	}
	err = parsed([]byte(block), func(file *ast.File) (err error) {
		if len(file.Docs) > 1 {
			return failf(2, "there is more than one set of settings")
		}
		if fields, err = readFields(file); err != nil {
			return err
		}
		return nothingLost(block, fields)
	})
	if err != nil {
		return nil, syntax(err)
	}
	return fields, nil
}

// nothingLost makes sure that every line that begins at the margin is a setting, and
// not the end of an unclosed text.
func nothingLost(block string, fields []Field) error {
	at := map[int]bool{}
	for _, f := range fields {
		at[f.Line] = true
	}
	for i, line := range strings.Split(block, "\n") {
		if line != "" && !strings.ContainsRune(" \t#-", rune(line[0])) && !at[i+2] {
			return failf(i+2, "this line belongs to the setting above; indent it if it should, or close the quote or bracket above")
		}
	}
	return nil
}

func readFields(file *ast.File) ([]Field, error) {
	fields := []Field{}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return fields, nil
	}
	var values []*ast.MappingValueNode
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		values = body.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{body}
	case *ast.CommentGroupNode:
		return fields, nil
	default:
		return nil, failf(lineOf(body), "settings must be lines such as tools: Read, Grep")
	}
	seen := map[string]int{}
	for _, v := range values {
		f, err := readField(v)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[f.Key]; twice {
			return nil, failf(f.Line, "%s is set twice; first in line %d", f.Key, first)
		}
		seen[f.Key] = f.Line
		fields = append(fields, f)
	}
	return fields, nil
}

// lineOf is the line in the file. The block begins in the second.
func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line + 1
	}
	return 2
}

func syntax(err error) error {
	if _, ok := errors.AsType[*LineError](err); ok {
		return err
	}
	line, message := 2, "the settings cannot be read as YAML"
	if y, ok := errors.AsType[yaml.Error](err); ok {
		if t := y.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line + 1
		}
		message = y.GetMessage()
	}
	return failf(line, "%s", message)
}

func readField(v *ast.MappingValueNode) (Field, error) {
	key, ok := v.Key.(*ast.StringNode)
	if !ok {
		return Field{}, failf(lineOf(v.Key), "%s cannot be a key here", v.Key.String())
	}
	f := Field{Key: key.Value, Line: lineOf(v.Key)}
	if list, ok := v.Value.(*ast.SequenceNode); ok {
		f.List = []string{}
		for _, item := range list.Values {
			text, err := single(f.Key, item)
			if err != nil {
				return Field{}, err
			}
			f.List = append(f.List, text)
		}
		return f, nil
	}
	var err error
	f.Text, err = single(f.Key, v.Value)
	return f, err
}

// single is a value that is neither a list nor an object.
func single(key string, n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", failf(lineOf(n), "%s has no value; write [] for none, or leave it out", key)
	default:
		return "", failf(lineOf(n), "%s must be a single value or a list of them", key)
	}
}
