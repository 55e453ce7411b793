package native

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// demo is a model that needs no network: it understands a few plain requests, really
// calls the tools, and says what it did. It is a function of the conversation, so it
// needs no memory.
type demo struct{}

// demoHelp is its answer to what it does not understand.
const demoHelp = "I am the built-in demo model: I follow plain requests, so that you can try Terret without a key. I understand\n\n" +
	"- `list files`\n- `read FILE`\n- `search for TEXT`\n- `create FILE containing TEXT`\n- `replace A with B in FILE`\n" +
	"- `run: COMMAND`\n- `ask me`\n- `make a plan`\n- `fail`\n\n" +
	"and several of them joined by `, then`. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model such as ollama/qwen3-coder, to talk to a real one."

// request is one thing to do: a tool to call, or words to say.
type request struct {
	intro string
	tool  string
	input map[string]any
	say   string
	fail  bool
}

// Forms of requests. Text that goes into a file, a command or a search is used as it
// is; other requests may end with a punctuation mark.
var demoPatterns = []struct {
	re    *lazyregexp.Regexp
	parse func(m []string) request
}{
	{lazyregexp.New(`(?i)^list(?: the| all)? files(?:[.!?]*| in (.+))$`), func(m []string) request {
		in := map[string]any{"pattern": "**/*"}
		if m[1] != "" {
			in["path"] = fileName(m[1])
		}
		return request{intro: "I will list the files.", tool: "Glob", input: in}
	}},
	{lazyregexp.New(`(?i)^(?:read|show|open)(?: the)?(?: file)? (.+)$`), func(m []string) request {
		file := fileName(m[1])
		return request{intro: "I will read " + file + ".", tool: "Read", input: map[string]any{"file_path": file}}
	}},
	{lazyregexp.New(`(?i)^search for (.+?)(?: in (\S+))?$`), func(m []string) request {
		text := unquoted(m[1])
		in := map[string]any{"pattern": regexp.QuoteMeta(text), "output_mode": "content"}
		if m[2] != "" {
			in["path"] = fileName(m[2])
		}
		return request{intro: "I will search for " + text + ".", tool: "Grep", input: in}
	}},
	{lazyregexp.New(`(?is)^(?:create|write)(?: a| the)?(?: file)? ("[^"]+"|\S+) (?:containing|with) (.+)$`), func(m []string) request {
		file := fileName(m[1])
		return request{intro: "I will create " + file + ".", tool: "Write", input: map[string]any{"file_path": file, "content": m[2] + "\n"}}
	}},
	{lazyregexp.New(`(?is)^replace (.+) with (.+) in ("[^"]+"|\S+)$`), func(m []string) request {
		file := fileName(m[3])
		return request{intro: "I will edit " + file + ".", tool: "Edit", input: map[string]any{
			"file_path": file, "old_string": unquoted(m[1]), "new_string": unquoted(m[2]), "replace_all": true,
		}}
	}},
	{lazyregexp.New(`(?is)^run(?::\s*|\s+)(.+)$`), func(m []string) request {
		return request{intro: "I will run a command.", tool: "Bash", input: map[string]any{"command": m[1]}}
	}},
	{lazyregexp.New(`(?i)^ask me\b.*$`), func([]string) request {
		return request{intro: "I have a question.", tool: askTool, input: map[string]any{
			"question": "Which colour do you like best?", "header": "Colour",
			"options": []map[string]string{{"label": "red", "description": "warm"}, {"label": "blue", "description": "cool"}},
		}}
	}},
	{lazyregexp.New(`(?i)^make a plan\b.*$`), func([]string) request {
		return request{intro: "Here is a plan.", tool: planTool, input: map[string]any{
			"plan": "1. Look at the files\n2. Change what must change\n3. Run the tests",
		}}
	}},
	{lazyregexp.New(`(?i)^fail[.!?]*$`), func([]string) request { return request{fail: true} }},
	{lazyregexp.New(`(?i)^(?:hi|hello|hey)\b.*$`), func([]string) request {
		return request{say: "Hello! " + demoHelp}
	}},
}

var (
	demoThen   = lazyregexp.New(`(?i),\s*(?:and\s+)?then\s+`)
	demoPlease = lazyregexp.New(`(?i)^please,?\s+`)
)

// unquoted is s without quotes around it.
func unquoted(s string) string {
	if n := len(s); n > 2 && s[0] == s[n-1] && strings.ContainsRune("\"'`", rune(s[0])) {
		return s[1 : n-1]
	}
	return s
}

// fileName is s without quotes and without the mark that ends the sentence.
func fileName(s string) string {
	bare := strings.TrimRight(s, ".!?")
	if end := strings.TrimRightFunc(bare, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("\"'`", r) }); end != bare {
		s = bare // but .. is a name
	}
	return unquoted(s)
}

// demoRequests parses what a person wants.
func demoRequests(text string) []request {
	var out []request
	for _, part := range demoThen.Split(strings.TrimSpace(text), -1) {
		part = demoPlease.ReplaceAllString(strings.TrimSpace(part), "")
		r := request{say: demoHelp}
		for _, p := range demoPatterns {
			if m := p.re.FindStringSubmatch(part); m != nil {
				r = p.parse(m)
				break
			}
		}
		out = append(out, r)
	}
	return out
}

// generate implements model. A step reports the result of the last tool, and continues
// with what comes next, up to the next tool.
func (demo) generate(ctx context.Context, q query, s sink) (reply, error) {
	text, done, last := demoState(q.messages)
	d := demoVoice{ctx: ctx, sink: s, tokens: int64(len(text) / 4)}
	if strings.HasPrefix(text, summaryPrompt) {
		d.say(demoSummary(q.messages))
		return d.reply("end_turn")
	}
	calls := 0
	for _, r := range demoRequests(text) {
		if r.tool != "" {
			calls++
		}
		switch {
		case calls < done: // before the last tool
		case calls == done && r.tool != "":
			d.say(demoReport(r, last))
		case r.fail:
			if d.err != nil {
				return reply{}, d.err
			}
			return reply{}, terret.Errorf(terret.CodeModelError, "the demo model fails, as you asked; say something else to continue")
		case r.say != "":
			d.say(r.say)
		default:
			d.say(r.intro)
			d.call(fmt.Sprintf("demo_%d_%d", len(q.messages), done), r.tool, r.input)
			return d.reply("tool_use")
		}
	}
	return d.reply("end_turn")
}

// demoSummary is what was asked so far.
func demoSummary(messages []message) string {
	out := "So far I was asked:\n"
	for _, m := range messages {
		text := terret.TextOf(words(m.blocks))
		switch {
		case m.role == terret.RoleAssistant && strings.HasPrefix(text, out): // an earlier summary
			out = strings.TrimRight(text, "\n") + "\n"
		case m.role == terret.RoleUser && text != "" && !strings.HasPrefix(text, summaryPrompt):
			out += "\n- " + brief.Line(text)
		}
	}
	return out
}

// demoState finds the last request, how many tools it has used since, and the result of
// the last.
func demoState(messages []message) (text string, done int, last terret.Block) {
	for _, m := range messages {
		if m.role != terret.RoleUser {
			continue
		}
		if len(words(m.blocks)) > 0 { // a prompt, perhaps after results of a turn that broke off
			text, done = terret.TextOf(m.blocks), 0
			continue
		}
		for _, b := range m.blocks {
			done++
			last = b
		}
	}
	return text, done, last
}

// demoReport says what a tool returned.
func demoReport(r request, result terret.Block) string {
	text := strings.TrimRight(terret.TextOf(result.Content), "\n")
	switch {
	case result.IsError:
		return "That did not work: " + text
	case r.tool == askTool:
		return "You chose " + text + "."
	case r.tool == planTool, r.tool == "Write", r.tool == "Edit":
		return text
	case text == "":
		return "It printed nothing."
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
