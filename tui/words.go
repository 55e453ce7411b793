package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// telling are the arguments of tools that say most, the most telling first.
func telling() []string {
	return []string{"command", "cmd", "file_path", "path", "filePath", "notebook_path", "pattern", "query", "url", "description", "question", "prompt", "name"}
}

// argument is the argument of a tool that tells most, in one line. Paths are shown from
// the folder of the session.
func argument(input terret.JSON, cwd string) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		var s string
		if json.Unmarshal(input, &s) == nil {
			return flat(s)
		}
		return ""
	}
	for _, name := range telling() {
		switch v := fields[name].(type) {
		case string:
			if v == "" {
				continue
			}
			if strings.Contains(strings.ToLower(name), "path") {
				v = within(v, cwd)
			}
			return flat(v)
		case []any:
			var words []string
			for _, w := range v {
				if s, ok := w.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) == len(v) && len(v) > 0 {
				return flat(strings.Join(words, " "))
			}
		}
	}
	var texts []string
	for _, v := range fields {
		if s, ok := v.(string); ok && s != "" {
			texts = append(texts, s)
		}
	}
	slices.Sort(texts)
	if len(texts) > 0 {
		return flat(texts[0])
	}
	return ""
}

// within is a path as seen from the folder.
func within(p, cwd string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(cwd, "/")+"/"); ok && cwd != "" {
		return rest
	}
	return p
}

const maxArgument = 300

// flat is a text in one line, with a sign for its line breaks.
func flat(s string) string {
	if len(s) > 4*maxArgument {
		s = s[:4*maxArgument]
	}
	parts := strings.Split(strings.TrimSpace(safe(s)), "\n")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return cut(strings.Join(parts, " ⏎ "), maxArgument)
}

// field is a text among the arguments of a tool.
func field(input terret.JSON, name string) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	s, _ := fields[name].(string)
	return s
}

// verb is what a tool does, in a word.
func verb(class terret.ToolClass, name, diff string) string {
	switch class {
	case terret.ClassExecute:
		return "Run"
	case terret.ClassRead:
		return "Read"
	case terret.ClassEdit:
		if strings.HasPrefix(diff, "--- /dev/null") || strings.Contains(diff, "\n--- /dev/null") {
			return "Create"
		}
		return "Edit"
	case terret.ClassSearch:
		return "Search"
	case terret.ClassFetch:
		return "Fetch"
	case terret.ClassAgent:
		return "Helper"
	case terret.ClassThink:
		return "Think"
	case terret.ClassMCP, terret.ClassOther:
	}
	return cmp.Or(oneLine(name), "Tool")
}

// doing is what an agent does with a tool, while it does.
func doing(class terret.ToolClass, name, arg string) string {
	short := cut(arg, 60)
	switch class {
	case terret.ClassExecute:
		return "running " + cmp.Or(short, "a command")
	case terret.ClassEdit:
		return "editing " + cmp.Or(path.Base(cmp.Or(arg, "a file")))
	case terret.ClassRead:
		return "reading " + path.Base(cmp.Or(arg, "a file"))
	case terret.ClassSearch:
		return strings.TrimSpace("searching " + short)
	case terret.ClassFetch:
		return "fetching " + cmp.Or(short, "a page")
	case terret.ClassAgent:
		return "waiting for a helper"
	case terret.ClassThink:
		return "thinking"
	case terret.ClassMCP, terret.ClassOther:
	}
	return "using " + oneLine(name)
}

// took is a duration as people say it.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d h", int(d.Hours()), int(d.Minutes())%60)
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// amount is a large number in few letters.
func amount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1f k", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}

// dollars is a cost as people say it; empty if there is none.
func dollars(c terret.Cost) string {
	switch v := c.Dollars(); {
	case v <= 0:
		return ""
	case v < 0.01:
		return "<$0.01"
	default:
		return fmt.Sprintf("$%.2f", v)
	}
}

// tokens is how many were used in all.
func tokens(u terret.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// claudeModel reads names such as claude-opus-4-5-20250929.
var claudeModel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[\w.-]+/)?claude-(?:(\d+(?:-\d{1,2})?)-)?(opus|sonnet|haiku)(?:-(\d+(?:-\d{1,2})?))?(?:-\d{8}|-latest)?(\[\w+\])?$`)
})

// modelName is a model as people call it.
func modelName(model string) string {
	if m := claudeModel().FindStringSubmatch(model); m != nil {
		number := strings.Replace(cmp.Or(m[3], m[1]), "-", ".", 1)
		return strings.TrimSpace(strings.Join([]string{strings.ToUpper(m[2][:1]) + m[2][1:], number, m[4]}, " "))
	}
	return oneLine(model)
}

// agentName is what people call an agent, by the titles that agents have.
func agentName(agent, model string, titles map[string]string) string {
	switch {
	case agent == "":
		return "The agent"
	case agent == "native" && (model == "" || strings.Contains(model, "demo")):
		return "Demo"
	case agent == "native":
		return "Terret"
	}
	return oneLine(cmp.Or(titles[agent], agent))
}

// switched are the policies that Shift-Tab goes through.
func switched() []terret.Policy {
	return []terret.Policy{terret.PolicyAsk, terret.PolicyAcceptEdits, terret.PolicyPlan, terret.PolicyAutoApprove}
}

func nextPolicy(now terret.Policy) terret.Policy {
	all := switched()
	return all[(slices.Index(all, now)+1)%len(all)]
}

// headline is what a request asks, in words.
func headline(q request, agent string) string {
	switch d := q.data.(type) {
	case terret.PermissionRequest:
		return permissionHeadline(d)
	case terret.QuestionRequest:
		return agent + " asks"
	case terret.PlanRequest:
		return agent + " has a plan"
	case terret.StopRequest:
		return agent + " wants to stop"
	}
	return agent + " waits for your answer"
}

func permissionHeadline(d terret.PermissionRequest) string {
	what := argument(d.Input, "")
	base := path.Base(cmp.Or(what, "a file"))
	switch d.Class {
	case terret.ClassExecute:
		return "Run a command"
	case terret.ClassEdit:
		return verb(d.Class, d.Tool, d.Diff) + " " + base
	case terret.ClassRead:
		return "Read " + base
	case terret.ClassSearch:
		return "Search"
	case terret.ClassFetch:
		return "Fetch a page"
	case terret.ClassAgent:
		return "Start a helper"
	case terret.ClassMCP, terret.ClassThink, terret.ClassOther:
	}
	return "Use " + oneLine(d.Tool)
}

// shortly is what a request asks, in a word, for lists.
func shortly(q request) string {
	switch d := q.data.(type) {
	case terret.PermissionRequest:
		return verb(d.Class, d.Tool, d.Diff)
	case terret.QuestionRequest:
		return "Asks"
	case terret.PlanRequest:
		return "Plan"
	case terret.StopRequest:
		return "Stop?"
	}
	return "Waits"
}

// verdict says who decided what.
func verdict(d terret.Decision) string {
	did := map[terret.Behavior]string{
		terret.BehaviorAllow: "allowed it", terret.BehaviorDeny: "denied it", terret.BehaviorAnswer: "answered", terret.BehaviorReject: "skipped it",
		terret.BehaviorApprove: "approved the plan", terret.BehaviorRevise: "asked for changes", terret.BehaviorBlock: "told it to go on",
		terret.BehaviorAsk: "handed it on", terret.BehaviorPassthrough: "let it pass",
	}[d.Behavior]
	switch d.Source {
	case terret.ByTimeout:
		return "timed out"
	case terret.ByAgentExit:
		return "the agent stopped"
	case terret.ByInterrupt:
		return "the turn was stopped"
	case terret.ByRule:
		return strings.TrimSpace("rule "+oneLine(d.Rule)) + " " + did
	case terret.ByPolicy:
		return "the mode " + did
	case terret.ByUser, terret.ByChannel:
	}
	reach := map[terret.Scope]string{terret.ScopeSession: " for this session", terret.ScopeAlways: " always"}[d.Scope]
	who := cmp.Or(oneLine(d.By), "somebody")
	if who == owner {
		who = "you"
	}
	return who + " " + did + reach
}

// why is the reason for which a request asks, in people's words.
func why(reason string) string {
	reason = oneLine(reason)
	switch reason {
	case "", "The policy ask asks a person.":
		return "No rule covers this."
	}
	return reason
}

// hasCode reports whether an error is of that kind.
func hasCode(err error, code terret.ErrorCode) bool {
	return err != nil && terret.AsError(err).Code == code
}
