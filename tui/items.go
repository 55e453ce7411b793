package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// keptRows are the rows of an item, kept until it or how it is shown changes.
type keptRows struct {
	version, columns, group int
	open                    bool
	valid                   bool
	rows                    []line
}

// painter lays out items. Its fields are what their rows depend on besides themselves.
type painter struct {
	columns int
	signs   *signs
	cwd     string
	agent   string
	now     time.Time
	cards   func(it *item, columns int) []line // of requests that wait
	asked   map[string]bool                    // tools that wait for a person; their cards show them
	me      string                             // who the person is in the log
}

// reading is the widest column of text.
const reading = 96

// rows are the rows of the item at a place, in the middle of its neighbours. A run of reads
// and searches is shown by its first item.
func (p *painter) rows(items []*item, at int) []line {
	it := items[at]
	if it.kind == itemRequest && it.ask.decision == nil {
		return append(p.cards(it, min(p.columns, reading)), nil)
	}
	if p.asked[it.key] {
		return nil // its card says everything
	}
	begin, n := group(items, at)
	if n > 1 && at != begin {
		if !unfolded(items[begin]) {
			return nil
		}
		n = 1
	}
	k := &it.kept
	live := it.kind == itemTool && it.state == toolRunning || it.kind == itemHelper && it.state == toolRunning
	if k.valid && !live && k.version == it.version && k.columns == p.columns && k.group == n && k.open == it.turned {
		return k.rows
	}
	rows := p.lay(it, items, at, n)
	*k = keptRows{version: it.version, columns: p.columns, group: n, open: it.turned, valid: true, rows: rows}
	return rows
}

// looks reports whether a tool only looked at something, so that a run of them is one row.
func looks(it *item) bool {
	return it.kind == itemTool && (it.class == terret.ClassRead || it.class == terret.ClassSearch) && it.state == toolDone && it.note == ""
}

// empty reports whether an item says nothing: requests that are decided, and words that
// turned out to be none.
func empty(it *item) bool {
	switch it.kind {
	case itemText, itemThinking:
		return strings.TrimSpace(it.text) == ""
	case itemRequest:
		return it.ask.decision != nil && it.ask.gate != terret.GateQuestion && it.ask.gate != terret.GatePlan
	case itemUser, itemTool, itemNotice, itemEnd, itemHelper:
	}
	return false
}

// group is the run of looks that the item is in.
func group(items []*item, at int) (begin, n int) {
	if !looks(items[at]) {
		return at, 1
	}
	begin, end := at, at
	for begin > 0 && (looks(items[begin-1]) || empty(items[begin-1])) {
		begin--
	}
	for !looks(items[begin]) {
		begin++
	}
	for i := end; i < len(items) && (looks(items[i]) || empty(items[i])); i++ {
		if looks(items[i]) {
			end = i
		}
	}
	for i := begin; i <= end; i++ {
		if looks(items[i]) {
			n++
		}
	}
	return begin, n
}

// unfolded reports whether an item that is folded by itself shows everything.
func unfolded(it *item) bool { return it.turned }

// foldable reports whether there is something to unfold.
func foldable(it *item) bool {
	switch it.kind {
	case itemTool, itemThinking, itemHelper:
		return true
	case itemNotice:
		return it.note != ""
	case itemUser, itemText, itemRequest, itemEnd:
	}
	return false
}

func (p *painter) lay(it *item, items []*item, at, n int) []line {
	columns := min(p.columns, reading)
	switch it.kind {
	case itemUser:
		return p.user(it, columns)
	case itemText:
		if empty(it) {
			return nil
		}
		return append(markdown(it.text, columns, p.signs), nil)
	case itemThinking:
		return p.thinking(it, columns)
	case itemTool:
		rows := p.tool(it, columns)
		if n > 1 {
			rows = p.group(items, at, columns)
		}
		return p.spaced(rows, items, at)
	case itemRequest:
		return p.answered(it, columns)
	case itemNotice:
		rows := indent(text(firstLook(it.level), strings.TrimSpace(it.text)).wrap(columns-2), line{{p.signs.bullet + " ", dim}}, line{{"  ", plain}})
		if it.note != "" && it.turned {
			rows = append(rows, indent(paragraph(dim, it.note, columns-4), line{{"    ", plain}}, line{{"    ", plain}})...)
		}
		return append(rows, nil)
	case itemEnd:
		return p.end(it, columns)
	case itemHelper:
		return p.spaced(p.helper(it, columns), items, at)
	}
	return nil
}

func firstLook(k look) look {
	if k == plain {
		return dim
	}
	return k
}

// spaced adds a free row after the last of several tools.
func (p *painter) spaced(rows []line, items []*item, at int) []line {
	for i := at + 1; i < len(items); i++ {
		if empty(items[i]) {
			continue
		}
		if items[i].kind == itemTool || items[i].kind == itemHelper {
			return rows
		}
		break
	}
	return append(slices.Clip(rows), nil)
}

const maxPromptRows = 16

// owner is what the log calls the person whose server it is.
const owner = "admin"

func (p *painter) user(it *item, columns int) []line {
	who := "you"
	if it.by != "" && it.by != p.me && it.by != owner {
		who = oneLine(it.by)
	}
	head := line{{who, bold | accent}, {"  " + it.time.Local().Format("15:04"), dim}}
	if it.undone {
		head = append(head, span{"  undone", needs})
	}
	body := paragraph(plain, it.text, columns)
	if len(body) > maxPromptRows {
		more := len(body) - maxPromptRows
		body = append(body[:maxPromptRows:maxPromptRows], text(dim, fmt.Sprintf("%s %d more lines", p.signs.ellipsis, more)))
	}
	return append(append([]line{head}, body...), nil)
}

func (p *painter) thinking(it *item, columns int) []line {
	if empty(it) {
		return nil
	}
	rows := paragraph(dim|italic, strings.TrimSpace(it.text), columns-2)
	sign := p.signs.fold
	if it.turned {
		sign = p.signs.open
	} else if it.stream != nil { // the newest of what it thinks
		rows = rows[max(0, len(rows)-3):]
	} else {
		return []line{join(line{{sign + " ", dim}}, text(dim, "Thought"+p.gist(it.text, columns-12)))}
	}
	return append(indent(rows, line{{sign + " ", dim}}, line{{"  ", plain}}), nil)
}

// gist is how a text begins.
func (p *painter) gist(s string, columns int) string {
	first, _, _ := strings.Cut(strings.TrimSpace(safe(s)), "\n")
	return " " + p.signs.dot + " " + cut(strings.Trim(first, "*# "), columns)
}

func (p *painter) group(items []*item, at, columns int) []line {
	begin, n := group(items, at)
	read, search := 0, 0
	for _, it := range items[begin:] {
		if read+search == n {
			break
		}
		switch {
		case !looks(it):
		case it.class == terret.ClassRead:
			read++
		default:
			search++
		}
	}
	var parts []string
	if read > 0 {
		parts = append(parts, "Read "+count(read, "file"))
	}
	if search > 0 {
		parts = append(parts, "Search "+fmt.Sprint(search))
	}
	if items[begin].turned {
		return p.tool(items[begin], columns)
	}
	return []line{join(line{{p.signs.done + " ", good}}, text(dim, strings.Join(parts, " "+p.signs.dot+" ")))}
}

// Of a tool that is folded: rows of its diff, of live output, and of why it failed.
const (
	foldedDiff   = 14
	liveOutput   = 5
	failedOutput = 4
	wholeOutput  = 400
)

func (p *painter) tool(it *item, columns int) []line {
	sign, k := p.toolSign(it)
	name := verb(it.class, it.name, it.diff)
	what := argument(it.input, p.cwd)
	head := line{{sign + " ", k}}
	head = append(head, text(plain, name)...)
	if what != "" {
		kind := code
		if it.class != terret.ClassExecute {
			kind = dim
		}
		head = append(head, text(kind, " "+what)...)
	}
	rows := []line{ends(head, p.result(it), columns)}
	if it.note != "" {
		rows = append(rows, join(line{{"  ", plain}}, text(dim, it.note)).cut(columns))
	}
	switch {
	case it.diff != "":
		most := foldedDiff
		if it.turned {
			most = 0
		}
		rows = append(rows, indent(diffRows(it.diff, columns-2, most, p.signs), line{{"  ", plain}}, line{{"  ", plain}})...)
		if it.state == toolFailed || it.state == toolDenied {
			rows = append(rows, p.output(it.fail, failedOutput, bad, columns)...)
		}
	case it.turned:
		if it.class != terret.ClassExecute && len(it.input) > 2 {
			rows = append(rows, p.output(pretty(it.input), 40, dim, columns)...)
		} else if what != "" {
			rows = append(rows, p.output(firstOf(field(it.input, "command"), field(it.input, "cmd")), 40, code, columns)...)
		}
		rows = append(rows, p.output(it.text, wholeOutput, dim, columns)...)
		if it.fail != "" && !strings.Contains(it.text, it.fail) {
			rows = append(rows, p.output(it.fail, wholeOutput, bad, columns)...)
		}
	case it.state == toolRunning:
		rows = append(rows, p.output(tailOf(it.text, 4096), liveOutput, dim, columns)...)
	case it.state == toolFailed:
		rows = append(rows, p.output(tailOf(firstOf(it.fail, it.text), 4096), failedOutput, dim, columns)...)
	}
	return rows
}

// tailOf is the end of a long text.
func tailOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[i+1:]
	}
	return s
}

func (p *painter) toolSign(it *item) (string, look) {
	switch it.state {
	case toolDone:
		return p.signs.done, good
	case toolFailed:
		return p.signs.failed, bad
	case toolDenied:
		return p.signs.failed, dim
	case toolStopped:
		return p.signs.failed, dim
	case toolWriting, toolRunning:
	}
	return p.signs.works, works
}

// result is what became of a tool call, in a word.
func (p *painter) result(it *item) line {
	switch it.state {
	case toolDenied:
		return line{{"denied", dim}}
	case toolStopped:
		return line{{"stopped", dim}}
	case toolRunning:
		if it.time.IsZero() || p.now.Sub(it.time) < time.Second {
			return nil
		}
		return line{{took(p.now.Sub(it.time).Truncate(time.Second)), works}}
	case toolFailed:
		return line{{"failed", bad}, {lasted(it.spent), dim}}
	case toolDone:
		if it.diff != "" {
			more, less := diffSize(it.diff)
			return line{{fmt.Sprintf("+%d", more), added}, {" ", plain}, {fmt.Sprintf("−%d", less), removed}}
		}
		return line{{strings.TrimSpace(lasted(it.spent)), dim}}
	case toolWriting:
	}
	return nil
}

func lasted(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " " + took(d)
}

// output is the end of what a tool has printed.
func (p *painter) output(s string, most int, k look, columns int) []line {
	s = strings.Trim(withoutColours(s), "\n")
	if strings.TrimSpace(s) == "" {
		return nil
	}
	parts := strings.Split(safe(s), "\n")
	var rows []line
	if n := len(parts) - most; n > 0 {
		rows = append(rows, text(dim, fmt.Sprintf("%s %s more", p.signs.ellipsis, count(n, "line"))))
		parts = parts[n:]
	}
	for _, part := range parts {
		rows = append(rows, hardwrap(line{{part, k}}, columns-4)...)
	}
	bar := line{{"  " + p.signs.bar + " ", border}}
	return indent(rows, bar, bar)
}

// answered is a question or a plan that was answered.
func (p *painter) answered(it *item, columns int) []line {
	if empty(it) {
		return nil
	}
	d := it.ask.decision
	head := join(line{{p.signs.done + " ", good}}, text(plain, headline(it.ask, p.agent)), text(dim, " "+p.signs.dot+" "+verdict(*d)))
	rows := []line{head.cut(columns)}
	if q, ok := it.ask.data.(terret.QuestionRequest); ok {
		for _, x := range q.Questions {
			if a := d.Answers[x.ID]; len(a) > 0 {
				rows = append(rows, indent(join(text(dim, x.Text+" "), text(plain, strings.Join(a, ", "))).wrap(columns-2), line{{"  ", plain}}, line{{"  ", plain}})...)
			}
		}
	}
	if plan, ok := it.ask.data.(terret.PlanRequest); ok {
		rows = append(rows, indent(markdown(plan.Plan, columns-2, p.signs), line{{"  ", plain}}, line{{"  ", plain}})...)
	}
	if d.Reason != "" {
		rows = append(rows, indent(text(dim, d.Reason).wrap(columns-2), line{{"  ", plain}}, line{{"  ", plain}})...)
	}
	return append(rows, nil)
}

func (p *painter) end(it *item, columns int) []line {
	e := it.end
	var parts []string
	for _, s := range []string{took(e.spent), "", dollars(e.cost)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if n := tokens(e.usage); n > 0 {
		parts = append(parts[:1:1], append([]string{amount(n) + " tokens"}, parts[1:]...)...)
	}
	foot := text(dim, strings.Join(parts, " "+p.signs.dot+" "))
	if e.failed == nil {
		return []line{foot, nil}
	}
	if e.failed.Code == terret.CodeInterrupted {
		return []line{join(line{{"Stopped", plain}, {"  ", plain}}, foot), nil}
	}
	rows := indent(text(bad, e.failed.Error()).wrap(columns-2), line{{p.signs.failed + " ", bad}}, line{{"  ", plain}})
	return append(rows, join(foot, text(dim, "  "+p.signs.dot+" /retry sends it again")), nil)
}

// helper is a subagent with its thread.
func (p *painter) helper(it *item, columns int) []line {
	sign, k := p.signs.works, works
	if it.state == toolDone {
		sign, k = p.signs.done, good
	}
	name := firstOf(it.name, "helper")
	done := 0
	for _, x := range it.items {
		if x.kind == itemTool && x.state > toolRunning {
			done++
		}
	}
	right := line(nil)
	if done > 0 {
		right = text(dim, count(done, "step"))
	}
	rows := []line{ends(join(line{{sign + " ", k}}, text(plain, name), text(dim, " "+p.gist(it.note, columns)[1:])), right, columns)}
	bar := line{{"  " + p.signs.bar + " ", border}}
	inner := *p
	inner.columns = max(20, columns-4)
	var rest []line
	for i := range it.items {
		rest = append(rest, inner.rows(it.items, i)...)
	}
	if it.turned && it.text != "" && it.state == toolDone {
		rest = append(rest, markdown(it.text, inner.columns, p.signs)...)
	}
	for len(rest) > 0 && len(rest[len(rest)-1]) == 0 {
		rest = rest[:len(rest)-1]
	}
	switch {
	case it.turned:
	case it.state == toolRunning:
		rest = rest[max(0, len(rest)-4):]
	default:
		rest = nil
	}
	return append(rows, indent(rest, bar, bar)...)
}
