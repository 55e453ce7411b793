package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/yamlfile"
)

const (
	forever      = -1
	maxAnswer    = 64 << 20 // bytes of one answer's text
	sharedSteps  = "shared"
	byFirstText  = "first_text"
	byID         = "id"
	dropBefore   = "before"
	dropMid      = "mid"
	defaultSide  = "Scripted."
	defaultModel = "sim"
)

// step is a checked step. Its texts are still templates.
type step struct {
	label    string // for people: where it is, and its name
	match    matchFile
	side     bool
	anywhere bool
	repeat   int // forever, or how many requests it answers
	answer   answer
}

// answer is what a step says.
type answer struct {
	answerFile
	delay, wait, retryAfter time.Duration
}

// compile checks the file's content. Errors begin with their location.
func compile(src yamlfile.File, f scenarioFile) (*Scenario, error) {
	s := &Scenario{
		name: src.Name, conversations: f.Conversations, sideAnswer: f.SideAnswer,
		key: f.RequireKey, models: f.Models, sideSteps: f.SideCalls == "steps",
	}
	switch f.Conversations {
	case "":
		s.conversations = sharedSteps
	case sharedSteps, byFirstText, byID:
	default:
		return nil, src.Errorf("$.conversations", "%q is not a way to tell conversations apart; use %s, %s or %s", f.Conversations, sharedSteps, byFirstText, byID)
	}
	switch f.SideCalls {
	case "", "answer", "steps":
	default:
		return nil, src.Errorf("$.side_calls", "%q is not a way to treat side calls; use answer or steps", f.SideCalls)
	}
	if s.sideAnswer == "" {
		s.sideAnswer = defaultSide
	}
	if len(f.Steps) == 0 {
		return nil, src.Errorf("$.steps", "a scenario needs steps")
	}
	for i, sf := range f.Steps {
		st, err := compileStep(src, i, sf)
		if err != nil {
			return nil, err
		}
		if st.side && s.sideSteps {
			return nil, src.Errorf(stepPath(i)+".side", "with side_calls: steps there are no side calls; leave out side")
		}
		s.steps = append(s.steps, st)
	}
	return s, s.reachable(src)
}

// reachable rejects steps that can never be used.
func (s *Scenario) reachable(src yamlfile.File) error {
	for _, side := range []bool{false, true} {
		blocked := ""
		for i, st := range s.steps {
			if st.side != side || st.anywhere {
				continue
			}
			if blocked != "" {
				return src.Errorf(stepPath(i), "this step is never reached: %s repeats forever; make that one anywhere, or put it last", blocked)
			}
			if st.repeat == forever {
				blocked = st.label
			}
		}
	}
	return nil
}

func stepPath(i int) string { return fmt.Sprintf("$.steps[%d]", i) }

func compileStep(src yamlfile.File, i int, f stepFile) (step, error) {
	path := stepPath(i)
	st := step{label: fmt.Sprintf("step %d (%s)", i+1, src.Where(path)), match: f.Match, side: f.Side, anywhere: f.Anywhere, repeat: 1}
	if f.Name != "" {
		st.label = fmt.Sprintf("step %d %q (%s)", i+1, f.Name, src.Where(path))
	}
	switch f.Repeat {
	case "":
	case "forever":
		st.repeat = forever
	default:
		n, err := strconv.Atoi(f.Repeat)
		if err != nil || n < 1 {
			return step{}, src.Errorf(path+".repeat", "%q must be a positive number or forever", f.Repeat)
		}
		st.repeat = n
	}
	groups, err := compileMatch(src, path+".match", f.Match)
	if err != nil {
		return step{}, err
	}
	st.answer, err = compileAnswer(src, path+".answer", f.Answer)
	if err != nil {
		return step{}, err
	}
	for _, name := range groups {
		if name == nameLast || name == nameOpen {
			return step{}, src.Errorf(path+".match", "the group (?P<%s>) hides {{%s}}; choose another name", name, name)
		}
	}
	return st, nil
}

// compileMatch returns the names of the groups.
func compileMatch(src yamlfile.File, path string, m matchFile) ([]string, error) {
	fields := []struct{ name, text string }{
		{"user", m.User}, {"tool_result", m.ToolResult}, {"first", m.First}, {"system", m.System}, {"model", m.Model}, {"reminder", m.Reminder},
	}
	stand := map[string]string{} // the values come with the player
	for _, field := range fields {
		if field.text != "" && m.Any {
			return nil, src.Errorf(path+".any", "any and %s contradict each other", field.name)
		}
		for _, name := range names(field.text) {
			if name == nameLast {
				return nil, src.Errorf(path+"."+field.name, "{{last}} can only be used in answers")
			}
			stand[name] = name
		}
		if _, err := newPattern(field.text, stand); err != nil {
			return nil, src.Errorf(path+"."+field.name, "%w", err)
		}
	}
	c, err := newCondition(m, stand)
	if err != nil {
		return nil, src.Errorf(path, "%w", err)
	}
	return c.groups(), nil
}

func compileAnswer(src yamlfile.File, path string, f answerFile) (answer, error) {
	a := answer{answerFile: f}
	if err := checkAnswer(src, path, f); err != nil {
		return answer{}, err
	}
	var err error
	if a.delay, err = duration(src, path+".delay", f.Delay); err != nil {
		return answer{}, err
	}
	if a.wait, err = duration(src, path+".wait", f.Wait); err != nil {
		return answer{}, err
	}
	if f.Error != nil {
		if f.Error.Status < 400 || f.Error.Status > 599 {
			return answer{}, src.Errorf(path+".error.status", "an error needs a status from 400 to 599, not %d", f.Error.Status)
		}
		if a.retryAfter, err = duration(src, path+".error.retry_after", f.Error.RetryAfter); err != nil {
			return answer{}, err
		}
	}
	for i, t := range f.Tools {
		at := fmt.Sprintf("%s.tools[%d]", path, i)
		if err := checkTool(src, at, t); err != nil {
			return answer{}, err
		}
		if _, err := json.Marshal(t.Input); err != nil {
			return answer{}, src.Errorf(at+".input", "the input cannot be written as JSON: %w", err)
		}
	}
	return a, nil
}

// checkTool rejects calls that name no tool, and unknown verbs.
func checkTool(src yamlfile.File, path string, t toolFile) error {
	switch {
	case t.Name == "" && t.Do == "":
		return src.Errorf(path, "a tool call needs a name, or do")
	case t.Name != "" && t.Do != "":
		return src.Errorf(path+".do", "name and do contradict each other")
	case t.Do == "":
		return nil
	}
	v, ok := verbs[t.Do]
	if !ok {
		return src.Errorf(path+".do", "%q is not something to do; use one of %s", t.Do, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	for _, name := range v.inputs {
		if _, ok := t.Input[name].(string); !ok || len(t.Input) != len(v.inputs) {
			return src.Errorf(path+".input", "to do %s takes the texts %s", t.Do, strings.Join(v.inputs, ", "))
		}
	}
	return nil
}

// checkAnswer rejects contradictions.
func checkAnswer(src yamlfile.File, path string, f answerFile) error {
	said := f.says()
	switch {
	case !said && f.Error == nil && f.Drop == "" && f.Garbage == "" && f.StopReason == "":
		return src.Errorf(path, "an answer needs one of text, pieces, thinking, tools, refuse, error, drop, garbage, stop_reason")
	case len(f.Pieces) > 0 && (f.Text != "" || f.Chunk != 0 || f.Times != 0):
		return src.Errorf(path+".pieces", "pieces are the whole text; leave out text, times and chunk")
	case f.Refuse != "" && (f.Text != "" || len(f.Pieces) > 0 || len(f.Tools) > 0 || f.StopReason != ""):
		return src.Errorf(path+".refuse", "a refusal must have no other text, tools or stop_reason")
	case f.Signature != "" && f.Thinking == "":
		return src.Errorf(path+".signature", "there is no thinking to sign")
	case f.Hold != "" && !said:
		return src.Errorf(path+".hold", "there is nothing to hold back; say something")
	case f.Chunk < 0, f.Times < 0:
		return src.Errorf(path, "chunk and times must not be negative")
	case f.Times > 0 && len(f.Text) > maxAnswer/f.Times:
		return src.Errorf(path+".times", "the text would be longer than %d bytes", maxAnswer)
	case f.Usage.negative():
		return src.Errorf(path+".usage", "usage must not be negative")
	case f.Drop != "" && f.Drop != dropBefore && f.Drop != dropMid:
		return src.Errorf(path+".drop", "%q is not a place to drop the connection; use %s or %s", f.Drop, dropBefore, dropMid)
	case f.Drop != "" && (f.Error != nil || f.Garbage != ""):
		return src.Errorf(path+".drop", "drop, error and garbage contradict each other")
	case f.Drop == dropBefore && said:
		return src.Errorf(path+".drop", "nothing is said when the connection is dropped before the answer; use mid")
	case f.Error != nil && f.Garbage != "" && said:
		return src.Errorf(path+".garbage", "garbage is the body of an error only if nothing else is said")
	}
	return nil
}

// says reports whether there are blocks.
func (f answerFile) says() bool {
	return f.Text != "" || len(f.Pieces) > 0 || f.Thinking != "" || len(f.Tools) > 0 || f.Refuse != ""
}

func (u usageFile) negative() bool {
	return u.CacheRead < 0 || u.CacheWrite < 0 || u.Input != nil && *u.Input < 0 || u.Output != nil && *u.Output < 0
}

// checkTemplates rejects names in the answer that have no value.
func (a answer) checkTemplates(values map[string]string) error {
	texts := slices.Concat([]string{a.Text, a.Thinking, a.Refuse, a.Garbage}, a.Pieces)
	if a.Error != nil {
		texts = append(texts, a.Error.Message)
		texts = slices.AppendSeq(texts, maps.Values(a.Error.Headers))
	}
	for _, t := range a.Tools {
		eachString(t.Input, func(s string) string {
			texts = append(texts, s)
			return s
		})
	}
	for _, text := range texts {
		if err := checkNames(text, values); err != nil {
			return err
		}
	}
	return nil
}
