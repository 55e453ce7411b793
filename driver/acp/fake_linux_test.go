package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/driver/internal/seat"
)

// fakeEnv says which agent the test binary plays: "replay:FILE" plays what a real one
// said, the others misbehave.
const fakeEnv = "FAKE_ACP"

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeEnv); name != "" {
		play(name)
		os.Exit(0)
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") { // an agent that was not told which one
		os.Exit(2) // or tests would start tests without end
	}
	goleak.VerifyTestMain(m)
}

// wireMessage is a line of either side.
type wireMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// recordedLine is a line of a transcript.
type recordedLine struct {
	Dir  string      `json:"dir"` // in, out
	Line wireMessage `json:"line"`
}

// fake is an agent.
type fake struct {
	name  string
	in    *bufio.Reader
	lines []recordedLine // that a real one said, if it plays one
	late  bool           // it goes on after the end of a turn
	how   string         // the method that opened its session
	told  bool           // to end the turn, while it waited for an answer
	early bool           // or before it had the prompt
	// What was chosen for the session.
	model, effort string
}

func play(name string) {
	f := &fake{name: name, in: bufio.NewReaderSize(os.Stdin, 1<<20), model: "m1", effort: "low"}
	if file, ok := strings.CutPrefix(name, "replay:"); ok {
		f.load(file)
	}
	switch name {
	case "dead":
		fmt.Fprintln(os.Stderr, "I do not feel well")
		os.Exit(3)
	case "mute":
		for {
			f.read()
		}
	}
	for {
		f.serve(f.read())
	}
}

func (f *fake) load(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(b)) {
		var l recordedLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			panic(err)
		}
		f.lines = append(f.lines, l)
	}
}

// read is the next message of the client. At the end of its input the agent ends.
func (f *fake) read() wireMessage {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var m wireMessage
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	return m
}

func (f *fake) send(m wireMessage) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", b)
}

func (f *fake) update(update string) {
	f.send(wireMessage{Method: methodUpdate, Params: json.RawMessage(`{"sessionId":"s1","update":` + update + `}`)})
}

func (f *fake) say(text string) {
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + quote(text) + `}}`)
}

func quote(s string) string { return string(seat.Encode(s)) }

func (f *fake) answer(m wireMessage, result string) {
	f.send(wireMessage{ID: m.ID, Result: json.RawMessage(result)})
}

// serve does what a message asks for.
func (f *fake) serve(m wireMessage) {
	switch {
	case m.ID == nil: // a notification
		f.early = m.Method == methodCancel
	case f.lines != nil:
		f.replay(m)
	case m.Method == methodInitialize && f.name == "later":
		f.answer(m, `{"protocolVersion":2}`)
	case m.Method == methodInitialize && f.name == "nonsense":
		f.answer(m, `["what?"]`)
	case m.Method == methodInitialize:
		can := `"loadSession":true,"sessionCapabilities":{"fork":{}}`
		switch f.name {
		case "resuming":
			can = `"sessionCapabilities":{"resume":{}}`
		case "either":
			can = `"loadSession":true,"sessionCapabilities":{"resume":{}}`
		case "neither":
			can = `"sessionCapabilities":{"resume":null}`
		}
		f.answer(m, `{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1.2.3"},"agentCapabilities":{`+can+`}}`)
	case m.Method == methodNew && f.name == "stranger":
		f.send(wireMessage{ID: m.ID, Error: json.RawMessage(`{"code":-32000,"message":"Authentication required"}`)})
	case m.Method == methodLoad && f.name == "forgetful":
		f.send(wireMessage{ID: m.ID, Error: json.RawMessage(`{"code":-32002,"message":"Session not found"}`)})
	case m.Method == methodNew, m.Method == methodLoad, m.Method == methodResume, m.Method == methodFork:
		f.how = m.Method
		if m.Method == methodLoad {
			f.say("this was said before")
		}
		f.answer(m, `{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"yolo"}]},`+f.options()+`}`)
	case (m.Method == methodSetMode || m.Method == methodSetOption) && strings.Contains(string(m.Params), `"none"`):
		f.send(wireMessage{ID: m.ID, Error: json.RawMessage(`{"code":-32602,"message":"there is none"}`)})
	case m.Method == methodSetOption:
		var chosen struct{ ConfigID, Value string }
		if err := json.Unmarshal(m.Params, &chosen); err != nil {
			panic(err)
		}
		if chosen.ConfigID == "model" {
			f.model = chosen.Value
		} else {
			f.effort = chosen.Value
		}
		f.answer(m, "{"+f.options()+"}")
	case m.Method == methodSetMode && f.late:
		f.late = false
		f.say("One more thing.")
		f.update(`{"sessionUpdate":"usage_update","used":5,"size":10}`)
		f.ask("late")
		f.answer(m, `{}`)
	case m.Method == methodPrompt:
		f.prompt(m)
	default:
		f.answer(m, `{}`)
	}
}

// options is what can be chosen, and what is.
func (f *fake) options() string {
	return `"configOptions":[{"id":"model","category":"model","currentValue":"` + f.model + `","options":[{"name":"group","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]}]},
		{"id":"effort","category":"thought_level","currentValue":"` + f.effort + `","options":[{"value":"low"},{"value":"high"}]}]`
}

// prompt does what the prompt says.
func (f *fake) prompt(m wireMessage) {
	var params struct {
		Prompt []struct{ Text string }
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		panic(err)
	}
	word := params.Prompt[0].Text
	switch word {
	case "die":
		f.say("I beg")
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	case "hang", "hang deaf", "hang and ask":
		f.say("Let me see")
		f.wait(m, word)
		return
	case "begin late": // when it was told to stop
		for !f.early && f.read().Method != methodCancel {
		}
		f.early = false
		f.say("Let me see")
		f.wait(m, word)
		return
	case "garbage":
		fmt.Printf("Warning: not JSON\n{\"type\":\"later\",\"x\":1}\n[1]\nnull\n%s\n", strings.Repeat("x", 3<<20))
		f.update(`{"sessionUpdate":"of_a_later_version","x":1}`)
		f.update(`"odd"`)
		f.update(`{"sessionUpdate":"tool_call","toolCallId":7}`)
		f.send(wireMessage{Method: "later/notification", Params: json.RawMessage(`{}`)})
		f.send(wireMessage{ID: json.RawMessage(`"x"`), Method: "later/request"})
		f.read()
	case "long":
		f.say(strings.Repeat("y", 3<<20))
	case "nonsense":
		f.answer(m, `["odd"]`)
		return
	case "ask", "ask and leave":
		f.ask(word)
	case "ask and wait":
		f.ask(word)
		f.wait(m, word)
		return
	case "question":
		f.send(wireMessage{ID: json.RawMessage(`0`), Method: methodElicit, Params: json.RawMessage(`{"sessionId":"s1","mode":"form","message":"Who are you?",
			"requestedSchema":{"type":"object","properties":{"age":{"type":"integer"}}}}`)})
		f.say(string(f.read().Result))
		f.answer(m, `{"stopReason":"end_turn"}`)
		return
	case "ask twice":
		f.ask(word)
		f.ask(word)
	case "tool":
		f.update(`{"sessionUpdate":"tool_call","toolCallId":"t9","title":"sleep","kind":"execute","status":"in_progress","rawInput":{"command":"sleep"}}`)
		f.wait(m, word)
		return
	case "fail":
		f.send(wireMessage{ID: m.ID, Error: json.RawMessage(`{"code":-32603,"message":"Internal error","data":{"details":"API error, status 429: slow down"}}`)})
		return
	case "opened?":
		f.say(f.how)
		f.answer(m, `{"stopReason":"end_turn"}`)
		return
	case "late":
		f.answer(m, `{"stopReason":"end_turn"}`)
		f.late = true
		return
	}
	f.say("You said " + word)
	f.answer(m, `{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":2}}`)
}

// wait waits until the turn is to end, and ends it unless it is deaf.
func (f *fake) wait(m wireMessage, word string) {
	for {
		if (f.told || f.read().Method == methodCancel) && word != "hang deaf" {
			f.told = false
			if word == "hang and ask" {
				f.ask(word)
			}
			f.answer(m, `{"stopReason":"cancelled"}`)
			return
		}
	}
}

// ask asks for permission, and says what came of it.
func (f *fake) ask(word string) {
	f.send(wireMessage{ID: json.RawMessage(`0`), Method: methodPermission, Params: json.RawMessage(`{"sessionId":"s1",
		"toolCall":{"toolCallId":"t1","title":"rm -rf x","kind":"execute","rawInput":{"command":"rm -rf x"}},
		"options":[{"optionId":"a2","kind":"allow_always"},{"optionId":"a1","kind":"allow_once"},{"optionId":"r1","kind":"reject_once"}]}`)})
	if word == "ask and leave" {
		for f.read().Method != methodCancel { // the turn ends before anybody decides
		}
		return
	}
	for {
		m := f.read()
		f.told = f.told || m.Method == methodCancel
		if m.Method == "" && string(m.ID) == "0" {
			if word != "ask and wait" {
				f.say(string(m.Result) + " ")
			}
			return
		}
	}
}

// replay answers as the real agent did: each method with its next recorded answer, and
// a prompt with all that was said until then.
func (f *fake) replay(m wireMessage) {
	for i, l := range f.lines {
		if l.Dir != "in" || l.Line.Method != m.Method {
			continue
		}
		rest := f.lines[i+1:]
		for n, next := range rest {
			switch {
			case next.Dir == "in" && next.Line.Method == "": // our answer to its request
				for got := f.read(); got.Method != ""; got = f.read() {
					f.answer(got, `{}`)
				}
			case next.Dir == "in":
			case next.Line.Method == "" && string(next.Line.ID) == string(l.Line.ID):
				f.lines = rest[n+1:]
				next.Line.ID = m.ID
				f.send(next.Line)
				return
			case next.Line.Method != "" && m.Method == methodPrompt:
				f.send(next.Line)
			}
		}
	}
	f.answer(m, `{}`)
}
