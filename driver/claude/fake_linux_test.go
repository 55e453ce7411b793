package claude

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// The environment of a fake Claude Code, which the test binary plays.
const (
	fakeEnv   = "FAKE_CLAUDE"        // which one
	recordEnv = "FAKE_CLAUDE_RECORD" // file to which each process adds how it was started
	// versionEnv is the version that it says it is; older ones do not say.
	versionEnv = "FAKE_CLAUDE_VERSION"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeEnv); name != "" {
		playFake(name)
		os.Exit(0)
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") { // an agent that was not told which one
		os.Exit(2) // or tests would start tests without end
	}
	goleak.VerifyTestMain(m)
}

// started is how a fake was started.
type started struct {
	Args   []string
	Env    []string
	Dir    string
	Config string // content of the file of MCP servers
	Secret os.FileMode
	System string // content of the file of the system prompt
}

type object = map[string]any

// fake is a Claude Code that knows the protocol and does what the prompt says.
type fake struct {
	name    string
	in      *bufio.Reader
	session string
	model   string
	mode    string
	last    string // uuid of the last line in the record
	inited  bool
	seen    []object // responses that came while something else was waited for
	hello   object   // the greeting
	primed  any      // how it was asked for its context
}

func playFake(name string) {
	f := &fake{name: name, in: bufio.NewReaderSize(os.Stdin, 1<<20), mode: "default"}
	f.note()
	if slices.Contains(os.Args, "--version") || slices.Contains(os.Args, "auth") {
		f.probed()
		return
	}
	switch name {
	case "dead":
		f.die(3, "I do not feel well")
	case "mute":
		for {
			f.line()
		}
	case "closed": // lives on without output
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "garbled":
		fmt.Println("Warning: this is not JSON")
		fmt.Println(strings.Repeat("x", 70<<10))
		f.say(object{"type": "of_a_later_version"})
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	f.begin()
	if f.flag("--input-format") == "" && !slices.Contains(os.Args, "--input-format") {
		f.oneShot()
		return
	}
	for {
		f.prompted(f.user())
	}
}

func (f *fake) die(code int, words string) {
	fmt.Fprintln(os.Stderr, words)
	os.Exit(code)
}

// note records how it was started.
func (f *fake) note() {
	s := started{Args: os.Args[1:], Env: os.Environ()}
	s.Dir, _ = os.Getwd()
	if file := f.flag("--mcp-config"); file != "" {
		b, _ := os.ReadFile(file)
		s.Config = string(b)
		if info, err := os.Stat(file); err == nil {
			s.Secret = info.Mode().Perm()
		}
	}
	if file := f.flag("--append-system-prompt-file"); file != "" {
		b, _ := os.ReadFile(file)
		s.System = string(b)
	}
	out, err := os.OpenFile(os.Getenv(recordEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // it is not wanted
	}
	_, _ = out.Write(append(seat.Encode(s), '\n'))
	_ = out.Close()
}

func (f *fake) flag(name string) string {
	for _, a := range os.Args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}

// file is the record of a session.
func file(id string) string {
	return filepath.Join(os.Getenv("HOME"), ".claude", "projects", "folder", id+".jsonl")
}

// begin opens the session that the arguments ask for.
func (f *fake) begin() {
	f.session = f.flag("--session-id")
	f.model = f.flag("--model")
	if m := f.flag("--permission-mode"); m != "" {
		f.mode = m
	}
	old := f.flag("--resume")
	if old == "" {
		return
	}
	b, err := os.ReadFile(file(old))
	if err != nil {
		words := "No conversation found with session ID: " + old
		f.say(object{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "errors": []string{words}, "session_id": old})
		f.die(1, words)
	}
	if f.session == "" {
		f.session = old
	}
	at := f.flag("--resume-session-at")
	for line := range strings.Lines(string(b)) {
		var r record
		_ = json.Unmarshal([]byte(line), &r)
		if slices.Contains(os.Args, "--fork-session") {
			f.keep(r)
		}
		f.last = r.UUID
		if r.UUID == at && at != "" {
			break
		}
	}
}

// keep adds a line to the record.
func (f *fake) keep(r record) {
	path := file(f.session)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.die(90, err.Error())
	}
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.die(90, err.Error())
	}
	r.Parent, f.last = f.last, r.UUID
	_, _ = out.Write(append(seat.Encode(object{"type": r.Type, "uuid": r.UUID, "parentUuid": r.Parent, "message": object{"id": r.Message.ID}}), '\n'))
	_ = out.Close()
}

func (f *fake) say(v object) {
	if v["session_id"] == nil && f.session != "" {
		v["session_id"] = f.session
	}
	_, _ = os.Stdout.Write(append(seat.Encode(v), '\n'))
}

// line is what it is told next. At the end of its input it ends.
func (f *fake) line() object {
	b, err := f.in.ReadBytes('\n')
	if err == io.EOF {
		if f.name == "stubborn" {
			time.Sleep(time.Hour)
		}
		os.Exit(0)
	}
	var out object
	if json.Unmarshal(b, &out) != nil {
		f.die(1, "Error parsing streaming input line")
	}
	return out
}

// next is the next line that is not a request which answers itself.
func (f *fake) next() object {
	for {
		m := f.line()
		request, _ := m["request"].(object)
		if request == nil {
			return m
		}
		id := m["request_id"]
		switch request["subtype"] {
		case "initialize":
			f.greeted(id, request)
		case "set_model":
			f.model, _ = request["model"].(string)
			if f.model == "forbidden" {
				f.refuse(id, "no such model")
				continue
			}
			f.answer(id, nil)
		case "set_permission_mode":
			f.mode, _ = request["mode"].(string)
			f.answer(id, object{"mode": f.mode})
			f.say(object{"type": "system", "subtype": "status", "permissionMode": f.mode})
		case "rename_session":
			if request["title"] == "refuse" {
				f.refuse(id, "the key is "+os.Getenv("ANTHROPIC_API_KEY"))
				continue
			}
			f.answer(id, nil)
		case "get_context_usage":
			f.primed = request["detail"]
			f.answer(id, object{"categories": []object{{"name": "Messages", "tokens": 7}}, "totalTokens": 10, "maxTokens": 100})
		case "cancel_async_message":
			f.answer(id, object{"cancelled": true})
		default:
			return m
		}
	}
}

func (f *fake) answer(id any, body any) {
	f.say(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": body}})
}

func (f *fake) refuse(id any, why string) {
	f.say(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": why}})
}

func (f *fake) greeted(id any, request object) {
	f.hello = request
	switch f.name {
	case "refuses":
		f.refuse(id, "not today")
		return
	case "held":
		f.hold()
	case "servers": // it talks to the server in our process first
		for _, name := range []string{"calc", "unknown"} {
			f.ask("mcp-"+name, object{"subtype": "mcp_message", "server_name": name, "message": object{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}})
		}
		f.ask("too-soon", object{"subtype": "can_use_tool", "tool_name": "Bash", "input": object{}})
		for range 3 {
			m := f.next()
			response, _ := m["response"].(object)
			f.seen = append(f.seen, response)
		}
		slices.SortFunc(f.seen, func(a, b object) int {
			return strings.Compare(fmt.Sprint(a["request_id"]), fmt.Sprint(b["request_id"]))
		})
	}
	f.say(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": object{
		"commands": []object{{"name": "compact", "description": "Make it short", "argumentHint": "<what>"}},
		"models":   []object{{"value": "opus", "displayName": "Opus", "supportedEffortLevels": []string{"low", "high"}}},
		"pid":      os.Getpid(), "current_permission_mode": f.mode, "claude_code_version": os.Getenv(versionEnv),
	}}})
}

// hold waits until the test lets it answer the greeting. Whoever speaks to it before
// that is told so.
func (f *fake) hold() {
	f.wait()
	if n, err := unix.IoctlGetInt(0, unix.TIOCINQ); err != nil || n > 0 || f.in.Buffered() > 0 {
		f.die(91, "spoken to before it was ready")
	}
}

// wait waits until the test lets it go on.
func (f *fake) wait() {
	if _, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "hold")); err != nil {
		f.die(90, err.Error())
	}
}

func (f *fake) ask(id string, request object) {
	f.say(object{"type": "control_request", "request_id": id, "request": request})
}

// decision waits for the answer to a request.
func (f *fake) decision(id string) object {
	for i, r := range f.seen {
		if r["request_id"] == id {
			f.seen = slices.Delete(f.seen, i, i+1)
			return r
		}
	}
	for {
		r, _ := f.next()["response"].(object)
		if r["request_id"] == id {
			return r
		}
		if r != nil {
			f.seen = append(f.seen, r)
		}
	}
}

// user is the next prompt, which it takes up.
func (f *fake) user() string {
	for {
		m := f.next()
		if request, _ := m["request"].(object); request != nil {
			f.answer(m["request_id"], nil) // an interrupt of nothing
			continue
		}
		if m["type"] != "user" {
			if r, _ := m["response"].(object); r != nil {
				f.seen = append(f.seen, r)
			}
			continue
		}
		message, _ := m["message"].(object)
		text, isText := message["content"].(string)
		if !isText {
			text = string(seat.Encode(message["content"]))
		}
		id, _ := m["uuid"].(string)
		f.takeUp(id, text)
		return text
	}
}

func (f *fake) takeUp(id, text string) {
	f.start()
	f.say(object{"type": "user", "uuid": id, "isReplay": true, "message": object{"role": "user", "content": text}})
	f.keep(record{Type: "user", UUID: id})
}

func (f *fake) start() {
	f.say(object{
		"type": "system", "subtype": "init", "cwd": ".", "tools": []string{"Bash"}, "model": "resolved-" + f.model, "permissionMode": f.mode,
		"claude_code_version": cmp.Or(os.Getenv(versionEnv), "2.1.325"), "slash_commands": []string{"compact"},
	})
	f.inited = true
}

// reply says something and ends the turn.
func (f *fake) reply(text string) {
	id := terret.NewSessionID()
	f.keep(record{Type: "assistant", UUID: id, Message: struct {
		ID string `json:"id"`
	}{"msg_api_" + id}})
	f.say(object{"type": "assistant", "uuid": id, "message": object{
		"id": "msg_api_" + id, "role": "assistant", "content": []object{{"type": "text", "text": text}}, "stop_reason": "end_turn",
	}})
	f.result(object{"result": text, "terminal_reason": "completed"})
}

func (f *fake) result(more object) {
	r := object{"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "total_cost_usd": 0.001}
	maps.Copy(r, more)
	f.say(r)
	f.say(object{"type": "system", "subtype": "session_state_changed", "state": "idle"})
}

func (f *fake) aborted() {
	f.result(object{"subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_streaming"})
}

// interrupted waits for an interrupt. Prompts that come meanwhile are forgotten.
func (f *fake) interrupted() {
	for {
		m := f.next()
		if request, _ := m["request"].(object); request != nil && request["subtype"] == "interrupt" {
			f.answer(m["request_id"], object{"still_queued": []string{}})
			return
		}
	}
}

func (f *fake) permission(id, command string) {
	f.ask(id, object{"subtype": "can_use_tool", "tool_name": "Bash", "input": object{"command": command}, "tool_use_id": "toolu_" + id})
}

// prompted does what the prompt says.
func (f *fake) prompted(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "ask":
		f.permission("r1", rest)
		f.reply(string(seat.Encode(f.decision("r1")["response"])))
	case "hook":
		f.ask("h1", object{"subtype": "hook_callback", "callback_id": rest, "input": object{
			"hook_event_name": rest, "tool_name": "Bash", "tool_input": object{}, "tool_use_id": "toolu_h",
		}})
		f.reply(string(seat.Encode(f.decision("h1")["response"])))
	case "ask-two":
		f.permission("r1", "one")
		f.permission("r2", "two")
		two := f.decision("r2")
		f.reply(string(seat.Encode([]any{f.decision("r1")["response"], two["response"]})))
	case "withdraw":
		f.permission("r1", "one")
		f.say(object{"type": "control_cancel_request", "request_id": "r1"})
		f.reply("withdrawn")
	case "ask-late": // about a call that ends with the turn, before the end and twice after it
		f.permission("r1", "one")
		f.wait()
		f.reply("over")
		f.ask("h1", object{"subtype": "hook_callback", "callback_id": "PreToolUse", "input": object{
			"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": object{}, "tool_use_id": "toolu_r1",
		}})
		f.ask("r2", object{"subtype": "can_use_tool", "tool_name": "Bash", "input": object{}, "tool_use_id": "toolu_r1"})
	case "told":
		f.reply(string(seat.Encode([]any{f.decision("r1")["response"], f.decision("h1")["response"], f.decision("r2")["response"]})))
	case "shout": // one byte more than is read
		piece := strings.Repeat("x", 1<<20)
		for range 64 {
			fmt.Print(piece)
		}
		fmt.Println("x")
		f.reply("That was loud.")
	case "plan":
		f.ask("p1", object{"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": object{"plan": "Do it."}, "tool_use_id": "toolu_p"})
		answer, _ := f.decision("p1")["response"].(object)
		f.mode = "default"
		if updates, _ := answer["updatedPermissions"].([]any); len(updates) == 1 {
			update, _ := updates[0].(object)
			f.mode, _ = update["mode"].(string)
		}
		f.say(object{"type": "system", "subtype": "status", "permissionMode": f.mode})
		f.reply(string(seat.Encode(answer)))
	case "who":
		f.reply(f.model + " " + f.mode)
	case "session":
		f.reply(f.session)
	case "servers":
		f.reply(string(seat.Encode(f.seen)))
	case "greeting":
		f.reply(string(seat.Encode(f.hello)))
	case "primed":
		f.reply(fmt.Sprint(f.primed))
	case "size":
		f.reply(fmt.Sprint(len(text)))
	case "long":
		f.reply(strings.Repeat("long ", 3<<20/5))
	case "garbage":
		fmt.Println("not JSON")
		fmt.Println("[1, 2]")
		f.say(object{"type": "of_a_later_version"})
		f.reply("that was garbage")
	case "clear":
		f.session = terret.NewSessionID()
		f.reply("cleared")
	default:
		f.misbehave(verb, rest)
	}
}

// misbehave does what an agent should not.
func (f *fake) misbehave(verb, rest string) {
	say := func(text string) {
		f.say(object{"type": "stream_event", "event": object{"type": "message_start", "message": object{"id": "msg_1"}}})
		f.say(object{"type": "stream_event", "event": object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": text}}})
	}
	switch verb {
	case "hang":
		say("I begin")
		f.interrupted()
		f.aborted()
	case "late": // it does not notice an interrupt before it has begun
		f.interrupted()
		f.start()
		f.interrupted()
		f.aborted()
	case "die":
		say("I begin")
		f.die(7, "key is "+os.Getenv("ANTHROPIC_API_KEY"))
	case "kill":
		say("I begin")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "die-asking":
		f.permission("r1", "one") // which is read to its end before the end is noticed
		f.die(7, "gone")
	case "shut":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "leave": // after the turn
		f.reply("bye")
		os.Exit(0)
	case "deaf": // after the turn it reads no more
		f.reply("what?")
		time.Sleep(time.Hour)
	case "close-input":
		_ = os.Stdin.Close()
		f.reply("closed")
		signal.Ignore(syscall.SIGPIPE)
		time.Sleep(time.Hour)
	case "key": // it is refused again and again
		for n := 1; n <= 2; n++ {
			f.say(object{"type": "system", "subtype": "api_retry", "attempt": n, "max_retries": 10, "error_status": 401, "error": "authentication_failed"})
		}
		f.interrupted()
		f.aborted()
	case "background": // after the turn it goes on by itself
		f.reply("for now")
		f.start()
		f.say(object{"type": "assistant", "uuid": "bg", "message": object{"id": "msg_bg", "content": []object{{"type": "text", "text": "by myself"}}, "stop_reason": "end_turn"}})
		m := f.next() // the prompt comes before the end
		f.result(object{"result": "by myself", "origin": object{"kind": "task-notification"}})
		message, _ := m["message"].(object)
		f.takeUp(m["uuid"].(string), message["content"].(string))
		f.reply("now to you")
	default:
		f.reply("You said " + verb + " " + rest)
	}
}

// oneShot answers the prompt of the command line, or of the input, and ends.
func (f *fake) oneShot() {
	var text string
	if i := slices.Index(os.Args, "--"); i >= 0 {
		text = strings.Join(os.Args[i+1:], " ")
	} else {
		b, _ := io.ReadAll(f.in)
		text = string(b)
	}
	if strings.HasPrefix(text, "other-id") {
		f.session = terret.NewSessionID()
	}
	switch verb, _, _ := strings.Cut(text, " "); verb {
	case "early":
		f.die(7, "no result")
	case "die":
		f.die(7, "key is "+os.Getenv("ANTHROPIC_API_KEY"))
	case "sigint":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		f.start()
		<-c
		f.aborted()
		os.Exit(0)
	case "sleep":
		f.start()
		time.Sleep(time.Hour)
	}
	f.start()
	f.keep(record{Type: "user", UUID: terret.NewSessionID()})
	if len(text) > 1000 {
		text = fmt.Sprint(len(text))
	}
	f.reply("You said " + text)
}

// probed answers questions about the program.
func (f *fake) probed() {
	version := slices.Contains(os.Args, "--version")
	switch {
	case f.name == "garbage":
		fmt.Println(strings.Repeat("<html>\n", 1<<18))
	case f.name == "silent":
		if !version {
			time.Sleep(time.Hour)
		}
		fmt.Println("2.1.300 (Claude Code)")
	case version:
		fmt.Println(strings.TrimPrefix(f.name, "version ") + " (Claude Code)")
	case strings.HasPrefix(f.name, "version 9"):
		fmt.Println(`{"loggedIn":false}`)
		os.Exit(1)
	default:
		fmt.Println(`{"loggedIn":true,"authMethod":"api_key"}`)
	}
}
