// Package yamlfile reads what people write in YAML strictly: unknown keys are errors, and
// nothing can expand to more than it looks like. Parse reads whole files; its errors begin
// with file:line:column. Frontmatter reads the settings at the head of a Markdown file.
package yamlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds a file, in bytes.
const maxFile = 4 << 20

// Parse decodes a file with one mapping into a struct. It returns where things are, for
// further errors.
func Parse(name string, data []byte, into any) (f File, err error) {
	if len(data) > maxFile {
		return f, fmt.Errorf("%s: it must not be longer than %d bytes", name, maxFile)
	}
	var bad error
	err = parsed(data, func(file *ast.File) error {
		f = File{Name: name, file: file}
		if bad = f.check(); bad != nil {
			return bad
		}
		return yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(file.Docs[0].Body, into)
	})
	if err != nil && bad == nil {
		err = located(name, err)
	}
	return f, err
}

// parsed calls use with a parsed text. The YAML library is large and has panicked on odd
// input before, so whatever it does is done here.
func parsed(data []byte, use func(*ast.File) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read as YAML (%v)", p)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	return use(file)
}

// File is a parsed file that knows where things are.
type File struct {
	Name string
	file *ast.File
}

// check rejects what is YAML but not a single mapping.
func (f File) check() error {
	if len(f.file.Docs) != 1 || f.file.Docs[0].Body == nil {
		return fmt.Errorf("%s:1:1: the file must hold exactly one YAML document", f.Name)
	}
	root := f.file.Docs[0].Body
	switch root.Type() {
	case ast.MappingType, ast.MappingValueType:
	default:
		return fmt.Errorf("%s: expected a mapping, such as name: value", f.at(root))
	}
	var found finder
	ast.Walk(&found, root)
	if found.node != nil {
		return fmt.Errorf("%s: anchors, aliases and tags are not allowed; write it out", f.at(found.node))
	}
	return nil
}

// finder finds what could expand a small file to a large value.
type finder struct{ node ast.Node }

// Visit implements ast.Visitor.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if n == nil || f.node != nil {
		return nil
	}
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType:
		f.node = n
		return nil
	default:
		return f
	}
}

// at is name:line:column of a node.
func (f File) at(n ast.Node) string {
	switch m := n.(type) { // a block mapping's own token is its first colon
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return f.Name
	}
	p := n.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", f.Name, p.Line, p.Column)
}

// Errorf makes an error about the value at a YAML path such as $.steps[0].answer.
func (f File) Errorf(path, format string, args ...any) error {
	return fmt.Errorf("%s: %w", f.Where(path), fmt.Errorf(format, args...))
}

// Where finds the value at the path, or the nearest one around it.
func (f File) Where(path string) string {
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterFile(f.file); err == nil {
				return f.at(n)
			}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return f.Name
}

// located puts name:line:column before the YAML library's message.
func located(name string, err error) error {
	y, ok := errors.AsType[yaml.Error](err)
	if !ok || y.GetToken() == nil || y.GetToken().Position == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	message := y.GetMessage()
	if t, ok := errors.AsType[*yaml.TypeError](err); ok {
		message = fmt.Sprintf("this is %s, expected %s", t.SrcType, t.DstType.Kind())
	}
	p := y.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, message)
}
