package sim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret/internal/yamlfile"
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
func Parse(name string, data []byte) (*Scenario, error) {
	if len(data) > maxScenario {
		return nil, fmt.Errorf("%s: a scenario must not be longer than %d bytes", name, maxScenario)
	}
	var content scenarioFile
	src, err := yamlfile.Parse(name, data, &content)
	if err != nil {
		return nil, err
	}
	return compile(src, content)
}

// duration reads "20ms"; empty is 0.
func duration(src yamlfile.File, path, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, src.Errorf(path, "%q is not a duration; write it like 20ms or 1.5s", text)
	}
	return d, nil
}
