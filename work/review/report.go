package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// Verdict is the outcome of a review.
type Verdict string

// The verdicts, from the best to the worst.
const (
	Pass     Verdict = "PASS"
	Concerns Verdict = "CONCERNS"
	Fail     Verdict = "FAIL"
)

var verdicts = []Verdict{Pass, Concerns, Fail}

// severities, from the least to the worst.
var severities = []string{"info", "low", "medium", "high", "critical"}

// Finding is something that a reviewer found.
type Finding struct {
	Severity   string `json:"severity"` // info, low, medium, high, critical
	Category   string `json:"category"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
	// Verified says that the diff shows that line of that file.
	Verified bool     `json:"verified"`
	FoundBy  []string `json:"found_by,omitempty"`
}

// Report is what a review came to.
type Report struct {
	ID       string        `json:"id"` // of the session that holds its log
	Template string        `json:"template"`
	Cwd      string        `json:"cwd"`
	State    string        `json:"state"` // running, interrupted, completed, failed
	Verdict  Verdict       `json:"verdict,omitempty"`
	Summary  string        `json:"summary,omitempty"`
	Findings []Finding     `json:"findings"`
	Agents   []AgentReport `json:"agents"`
	// Empty says that there was nothing to review, Left which files were too large.
	Empty     bool        `json:"empty,omitempty"`
	Left      []string    `json:"left,omitempty"`
	CostUSD   terret.Cost `json:"cost_usd"`
	CreatedAt terret.Time `json:"created_at"`
	Diff      string      `json:"diff,omitempty"` // what was reviewed, if it was asked for
}

// AgentReport is what one agent said.
type AgentReport struct {
	Agent    string      `json:"agent"`
	Session  string      `json:"session,omitempty"`
	Verdict  Verdict     `json:"verdict,omitempty"`
	Summary  string      `json:"summary,omitempty"`
	Findings []Finding   `json:"findings,omitempty"`
	Error    string      `json:"error,omitempty"`
	Repairs  int         `json:"repairs,omitempty"` // how often it had to answer again
	CostUSD  terret.Cost `json:"cost_usd"`
}

// form is what agents are told about their answer.
const form = `Answer with one JSON object and nothing else, no prose and no code fence:

{"verdict": "PASS" or "CONCERNS" or "FAIL",
 "summary": "one or two sentences",
 "findings": [{"severity": "critical" or "high" or "medium" or "low" or "info", "category": "one word, such as bug",
   "file": "path from the top of the repository", "line": line number in the new file,
   "message": "what is wrong and why", "suggestion": "what to do"}]}

FAIL means that it must not go in like this, CONCERNS that somebody should look at the findings, PASS that neither is so.`

// answer is what an agent has to say.
type answer struct {
	Verdict  Verdict   `json:"verdict"`
	Summary  string    `json:"summary"`
	Findings []Finding `json:"findings"`
}

// parseAnswer finds the answer in what an agent wrote, even between prose or in a fence.
// The error says what is wrong with it. Of two verdicts nobody can tell which one is quoted,
// as from the diff.
func parseAnswer(text string) (found answer, err error) {
	err = fmt.Errorf("there is no JSON object with a verdict in it")
	for at := 0; at < len(text); at++ {
		if text[at] != '{' {
			continue
		}
		var a answer
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		if e := dec.Decode(&a); e != nil {
			if strings.Contains(text[at:], `"verdict"`) && !strings.Contains(text[:at], "{") {
				err = fmt.Errorf("the JSON is broken: %w", e)
			}
			continue
		}
		at += int(dec.InputOffset()) - 1
		if a.Verdict == "" {
			continue
		}
		if err = a.check(); err != nil {
			return answer{}, err
		}
		if found.Verdict != "" && found.Verdict != a.Verdict {
			return answer{}, fmt.Errorf("it gives two verdicts, %s and %s", found.Verdict, a.Verdict)
		}
		found = a
	}
	return found, err
}

// check validates an answer, and brings its words into form.
func (a *answer) check() error {
	a.Verdict = Verdict(strings.ToUpper(strings.TrimSpace(string(a.Verdict))))
	if !slices.Contains(verdicts, a.Verdict) {
		return fmt.Errorf("the verdict %q is not PASS, CONCERNS or FAIL", a.Verdict)
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Severity = strings.ToLower(strings.TrimSpace(f.Severity))
		f.Category = cmp.Or(strings.ToLower(strings.TrimSpace(f.Category)), "other")
		f.File = strings.TrimPrefix(strings.TrimSpace(f.File), "./")
		f.Verified, f.FoundBy = false, nil
		if !slices.Contains(severities, f.Severity) {
			return fmt.Errorf("finding %d: the severity %q is not one of %s", i+1, f.Severity, strings.Join(severities, ", "))
		}
		if strings.TrimSpace(f.Message) == "" {
			return fmt.Errorf("finding %d has no message", i+1)
		}
		f.Line = max(f.Line, 0)
	}
	return nil
}

// near is how many lines apart findings may be that are about the same thing.
const near = 2

// same reports whether two findings are about the same thing.
func same(a, b Finding) bool {
	return a.File == b.File && b.File != "" &&
		(a.Line == b.Line && b.Line > 0 || a.Category == b.Category && max(a.Line-b.Line, b.Line-a.Line) <= near)
}

// merge puts what the agents found together. Findings of different agents about the same
// place and of the same category, or about exactly the same line, become one.
func merge(agents []AgentReport) (Verdict, []Finding) {
	worst := Pass
	out := []Finding{}
	var from []int // the agent that found each of them last
	for n, a := range agents {
		if a.Error != "" {
			continue
		}
		if slices.Index(verdicts, a.Verdict) > slices.Index(verdicts, worst) {
			worst = a.Verdict
		}
		for _, f := range a.Findings {
			i := 0
			for i < len(out) && (from[i] == n || !same(out[i], f)) {
				i++
			}
			if i == len(out) {
				f.FoundBy = []string{a.Agent}
				out, from = append(out, f), append(from, n)
				continue
			}
			o := &out[i]
			from[i] = n
			o.FoundBy = append(o.FoundBy, a.Agent) // the same agent may review twice, and agree with itself
			if slices.Index(severities, f.Severity) > slices.Index(severities, o.Severity) {
				o.Severity = f.Severity
			}
			if f.Verified && !o.Verified {
				o.Line, o.Verified = f.Line, true
			}
			o.Suggestion = cmp.Or(o.Suggestion, f.Suggestion)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(slices.Index(severities, b.Severity)-slices.Index(severities, a.Severity), len(b.FoundBy)-len(a.FoundBy), cmp.Compare(a.File, b.File), a.Line-b.Line)
	})
	return worst, out
}
