package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxScenario bounds a scenario file, in bytes.
const maxScenario = 1 << 20

// Scenario is a checked script. It does not change and may be played repeatedly.
type Scenario struct {
	name          string
	conversations string
	sideSteps     bool // requests without tools use up steps like others
	sideAnswer    string
	key           string
	models        []string
	steps         []step
}

// Name is the file's name, or what Parse was given.
func (s *Scenario) Name() string { return s.name }

// scenarioFile and the types below are the file format.
type scenarioFile struct {
	Conversations string     `yaml:"conversations"`
	SideCalls     string     `yaml:"side_calls"`
	SideAnswer    string     `yaml:"side_answer"`
	RequireKey    string     `yaml:"require_key"`
	Models        []string   `yaml:"models"`
	Steps         []stepFile `yaml:"steps"`
}

type stepFile struct {
	Name     string     `yaml:"name"`
	Match    matchFile  `yaml:"match"`
	Answer   answerFile `yaml:"answer"`
	Repeat   string     `yaml:"repeat"`
	Anywhere bool       `yaml:"anywhere"`
	Side     bool       `yaml:"side"`
}

type matchFile struct {
	User       string `yaml:"user"`
	ToolResult string `yaml:"tool_result"`
	First      string `yaml:"first"`
	System     string `yaml:"system"`
	Model      string `yaml:"model"`
	Reminder   string `yaml:"reminder"`
	Any        bool   `yaml:"any"`
}

type answerFile struct {
	Text       string     `yaml:"text"`
	Times      int        `yaml:"times"`
	Pieces     []string   `yaml:"pieces"`
	Chunk      int        `yaml:"chunk"`
	Delay      string     `yaml:"delay"`
	Wait       string     `yaml:"wait"`
	Hold       string     `yaml:"hold"`
	Thinking   string     `yaml:"thinking"`
	Signature  string     `yaml:"signature"`
	Tools      []toolFile `yaml:"tools"`
	StopReason string     `yaml:"stop_reason"`
	Usage      usageFile  `yaml:"usage"`
	Error      *errorFile `yaml:"error"`
	Drop       string     `yaml:"drop"`
	Refuse     string     `yaml:"refuse"`
	Garbage    string     `yaml:"garbage"`
}

type toolFile struct {
	Name  string         `yaml:"name"`
	Do    string         `yaml:"do"`
	Input map[string]any `yaml:"input"`
	ID    string         `yaml:"id"`
}

type usageFile struct {
	Input      *int `yaml:"input"`
	Output     *int `yaml:"output"`
	CacheRead  int  `yaml:"cache_read"`
	CacheWrite int  `yaml:"cache_write"`
}

type errorFile struct {
	Status     int               `yaml:"status"`
	Type       string            `yaml:"type"`
	Message    string            `yaml:"message"`
	RetryAfter string            `yaml:"retry_after"`
	Headers    map[string]string `yaml:"headers"`
}

// Load reads a scenario from a file.
func Load(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScenario+1))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", path, err)
	}
	s, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	s.name = filepath.Base(path)
	return s, nil
}

// Parse reads a scenario. Unknown fields and contradictions are errors that begin with
// name:line:column.
func Parse(name string, data []byte) (s *Scenario, err error) {
	if len(data) > maxScenario {
		return nil, fmt.Errorf("%s: a scenario must not be longer than %d bytes", name, maxScenario)
	}
	defer func() { // the YAML library is large and has panicked on odd input before
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%s: cannot be read as YAML (%v)", name, p)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, located(name, err)
	}
	src := source{name: name, file: file}
	if err := src.check(); err != nil {
		return nil, err
	}
	var content scenarioFile
	if err := yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(file.Docs[0].Body, &content); err != nil {
		return nil, located(name, err)
	}
	return compile(src, content)
}

// source is a parsed file that knows where things are.
type source struct {
	name string
	file *ast.File
}

// check rejects what is YAML but not a scenario.
func (s source) check() error {
	if len(s.file.Docs) != 1 || s.file.Docs[0].Body == nil {
		return fmt.Errorf("%s:1:1: want one YAML document with steps, got %d", s.name, len(s.file.Docs))
	}
	root := s.file.Docs[0].Body
	switch root.Type() {
	case ast.MappingType, ast.MappingValueType:
	default:
		return fmt.Errorf("%s: want a mapping with steps", s.at(root))
	}
	var found finder
	ast.Walk(&found, root)
	if found.node != nil {
		return fmt.Errorf("%s: anchors, aliases and tags are not allowed; write it out", s.at(found.node))
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
func (s source) at(n ast.Node) string {
	switch m := n.(type) { // a block mapping's own token is its first colon
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return s.name
	}
	p := n.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", s.name, p.Line, p.Column)
}

// errorf makes an error about the value at a YAML path such as $.steps[0].answer.
func (s source) errorf(path, format string, args ...any) error {
	return fmt.Errorf("%s: %w", s.where(path), fmt.Errorf(format, args...))
}

// where finds the value at the path, or the nearest one around it.
func (s source) where(path string) string {
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterFile(s.file); err == nil {
				return s.at(n)
			}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return s.name
}

// located puts name:line:column before the YAML library's message.
func located(name string, err error) error {
	y, ok := errors.AsType[yaml.Error](err)
	if !ok || y.GetToken() == nil || y.GetToken().Position == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	message := y.GetMessage()
	if t, ok := errors.AsType[*yaml.TypeError](err); ok {
		message = fmt.Sprintf("this is %s, want %s", t.SrcType, t.DstType.Kind())
	}
	p := y.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, message)
}

// duration reads "20ms"; empty is 0.
func (s source) duration(path, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, s.errorf(path, "%q is not a duration; write it like 20ms or 1.5s", text)
	}
	return d, nil
}
