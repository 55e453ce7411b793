package opencode

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fakeEnv says which fake OpenCode the test binary plays.
const fakeEnv = "FAKE_OPENCODE"

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeEnv); name != "" && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		playFake(name)
		os.Exit(0)
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") { // an agent that was not told which one
		os.Exit(2) // or tests would start tests without end
	}
	goleak.VerifyTestMain(m)
}

type object = map[string]any

// fake is a server that knows the API and does what the prompt says.
type fake struct {
	name string

	mu       sync.Mutex
	streams  map[chan []byte]bool
	messages []object // stored
	title    string
	n        int
	busy     bool
	reverted string // the message before which the conversation ends
	aborted  chan struct{}
	answers  chan object
}

func playFake(name string) {
	switch {
	case !slices.Contains(os.Args, "serve") && os.Getenv(projectVar) == "":
		fmt.Fprintln(os.Stderr, "a folder that nobody may have trusted has a say")
		os.Exit(4)
	case slices.Contains(os.Args, "--version"):
		fmt.Println("1.18.33")
		return
	case slices.Contains(os.Args, "auth"):
		fmt.Println("0 credentials")
		return
	case slices.Contains(os.Args, "config"):
		fmt.Println(os.Getenv(configVar))
		return
	}
	switch name {
	case "dead":
		fmt.Fprintln(os.Stderr, "I do not feel well")
		os.Exit(3)
	case "mute":
		select {}
	}
	fmt.Println("this is not JSON")
	f := &fake{name: name, streams: map[chan []byte]bool{}, aborted: make(chan struct{}, 9), answers: make(chan object, 9)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("opencode server listening on http://%s\n", ln.Addr())
	panic(http.Serve(ln, f)) //nolint:gosec // only a test talks to it
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if f.name == "stranger" || user != "opencode" || password == "" || password != os.Getenv(passwordVar) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body := object{}
	if json.NewDecoder(r.Body).Decode(&body) == nil && r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	if f.name == "page" {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
		return
	}
	path := strings.Replace(r.URL.Path, "/session/ses_1", "/session/ID", 1)
	switch r.Method + " " + path {
	case "GET /global/health":
		answer(object{"healthy": true, "version": "1.18.33"})
	case "GET /agent":
		rules := []object{
			{"permission": "*", "pattern": "*", "action": "allow"},
			{"permission": "webfetch", "pattern": "*", "action": "deny"},
			{"permission": "*", "pattern": "*", "action": "ask"},
			{"permission": "external_directory", "pattern": "*", "action": "allow"},
		}
		answer([]object{
			{"name": "build", "mode": "primary", "permission": rules},
			{"name": "plan", "mode": "primary", "permission": rules},
			{"name": "reckless", "mode": "subagent", "permission": rules[:1]}, // asks about nothing
		})
	case "GET /experimental/tool/ids":
		answer([]string{"bash", "write", "edit", "of_a_plugin"})
	case "GET /mcp", "GET /config":
		answer(object{})
	case "GET /config/providers":
		answer(object{"providers": []object{{"id": "fake", "source": "env", "models": object{"m1": object{"name": "One"}}}}})
	case "GET /command":
		answer([]object{{"name": "greet"}, {"name": "review", "agent": "plan"}, {"name": "rush", "agent": "reckless"}})
	case "GET /permission", "GET /question":
		answer([]object{})
	case "GET /event":
		f.listen(w, r)
	case "POST /session":
		answer(object{"id": "ses_1"})
	case "GET /session/ID":
		if f.name == "forgetful" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"name":"NotFoundError","data":{"message":"there is none"}}`)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(object{"id": "ses_1", "reverted": f.reverted, "title": f.title})
	case "POST /session/ID/revert", "POST /session/ID/unrevert":
		f.mu.Lock()
		f.reverted, _ = body["messageID"].(string)
		f.mu.Unlock()
		answer(object{"id": "ses_1"})
	case "PATCH /session/ID":
		f.mu.Lock()
		if title, ok := body["title"].(string); ok {
			f.title = title
		}
		f.mu.Unlock()
		answer(object{"id": "ses_1"})
	case "GET /session/ID/message":
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(f.messages)
	case "GET /session/status":
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.busy {
			answer(object{"ses_1": object{"type": "busy"}})
		} else {
			answer(object{})
		}
	case "POST /session/ID/abort":
		f.aborted <- struct{}{}
		answer(true)
	case "POST /session/ID/prompt_async":
		parts, _ := body["parts"].([]any)
		text, _ := parts[0].(object)["text"].(string)
		w.WriteHeader(http.StatusNoContent)
		_ = http.NewResponseController(w).Flush() // the turn may be the last it does
		go f.turn(text, body)
	case "POST /session/ID/command", "POST /session/ID/summarize": // answered when the turn is over
		f.turn("body", body)
		answer(true)
	case "POST /session/ID/fork":
		before, _ := body["messageID"].(string)
		answer(object{"id": "ses_before_" + before})
	default:
		if strings.HasSuffix(path, "/reply") || strings.HasSuffix(path, "/reject") {
			body["path"] = path
			f.answers <- body
			answer(true)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
	}
}

func (f *fake) listen(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	ch := make(chan []byte, 100)
	f.mu.Lock()
	f.streams[ch] = true
	f.mu.Unlock()
	write := func(b []byte) bool {
		if b == nil {
			return false // the connection is cut
		}
		_, err := fmt.Fprintf(w, "data: %s\n\n", b)
		return err == nil && http.NewResponseController(w).Flush() == nil
	}
	for ok := write([]byte(`{"type":"server.connected","properties":{}}`)); ok; {
		select {
		case b := <-ch:
			ok = write(b)
		case <-r.Context().Done():
			return
		}
	}
	f.mu.Lock()
	delete(f.streams, ch)
	f.mu.Unlock()
}

// raw says something to all who listen; nil cuts them off.
func (f *fake) raw(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.streams {
		ch <- b
	}
}

func (f *fake) say(kind string, properties object) {
	properties["sessionID"] = "ses_1"
	b, err := json.Marshal(object{"type": kind, "properties": properties})
	if err != nil {
		panic(err)
	}
	f.raw(b)
}

func (f *fake) status(kind string) {
	f.mu.Lock()
	f.busy = kind == "busy"
	f.mu.Unlock()
	f.say("session.status", object{"status": object{"type": kind}})
	if kind == "idle" {
		f.say("session.idle", object{})
	}
}

func (f *fake) id(prefix string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return fmt.Sprintf("%s_%04d", prefix, f.n)
}

// message is one of the agent's, with a text and the calls of tools.
type fakeMessage struct {
	f     *fake
	info  object
	parts []object
}

func (f *fake) store(info object, parts ...object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, object{"info": info, "parts": parts})
}

func (f *fake) begin(user string) *fakeMessage {
	m := &fakeMessage{f: f, info: object{"id": f.id("msg"), "sessionID": "ses_1", "role": "assistant", "parentID": user}}
	f.say("message.updated", object{"info": m.info})
	return m
}

func (m *fakeMessage) part(p object) object {
	p["id"], p["messageID"], p["sessionID"] = m.f.id("prt"), m.info["id"], "ses_1"
	m.parts = append(m.parts, p)
	m.f.say("message.part.updated", object{"part": p})
	return p
}

func (m *fakeMessage) done(finish string) {
	m.info["finish"], m.info["time"] = finish, object{"completed": 1}
	m.info["tokens"] = object{"input": 10, "output": 2}
	m.f.store(m.info, m.parts...)
	m.f.say("message.updated", object{"info": m.info})
}

func (m *fakeMessage) text(s string) {
	m.part(object{"type": "text", "text": s, "time": object{"end": 1}})
}

// turn does what the prompt says.
func (f *fake) turn(text string, body object) {
	user := object{"id": f.id("msg"), "sessionID": "ses_1", "role": "user"}
	f.store(user)
	if text == "refuse" { // as for an agent that does not exist: it is never busy
		f.say("session.error", object{"error": object{"name": "UnknownError", "data": object{"message": "there is no such agent"}}})
		return
	}
	f.status("busy")
	f.say("message.updated", object{"info": user})
	m := f.begin(user["id"].(string))
	switch text {
	case "die":
		m.part(object{"type": "tool", "callID": "call_1", "tool": "bash", "state": object{"status": "running", "input": object{"command": "x"}}})
		fmt.Fprintln(os.Stderr, "Segmentation fault")
		os.Exit(7)
	case "garbage":
		f.raw([]byte("this is not JSON"))
		f.raw([]byte(`[1,2]`))
		f.raw([]byte(`{"type":"message.updated","properties":{"info":"nonsense"}}`))
		f.say("session.of_a_later_version", object{"x": 1})
		m.text("Still here.")
		m.done("stop")
	case "big":
		m.text(strings.Repeat("0123456789abcdef", 3<<20/16))
		m.done("stop")
	case "silent": // the end is never told
		m.info["finish"], m.info["time"] = "stop", object{"completed": 1}
		f.store(m.info, object{"id": "prt_9999", "type": "text", "text": "Silent.", "time": object{"end": 1}})
		f.mu.Lock()
		f.busy = false
		f.mu.Unlock()
		return
	case "cut":
		f.raw(nil)
		f.mu.Lock()
		f.streams = map[chan []byte]bool{}
		f.busy = false
		f.mu.Unlock()
		m.text("Said while nobody listened.")
		m.done("stop")
		return
	case "hang":
		<-f.aborted
		f.status("idle") // before the last words
		f.say("session.error", object{"error": object{"name": "MessageAbortedError"}})
		m.text("I was about")
		m.info["error"] = object{"name": "MessageAbortedError"}
		m.done("")
	case "tool", "parallel":
		f.useTools(m, text == "parallel")
		m.done("tool-calls")
		m = f.begin(user["id"].(string))
		m.text("Done.")
		m.done("stop")
	case "question":
		f.say("question.asked", object{"id": "que_1", "questions": []object{{"question": "Which?", "options": []object{{"label": "A"}}}, {"question": "Why?"}}})
		b, _ := json.Marshal(<-f.answers)
		m.text(string(b))
		m.done("stop")
	case "body": // says what it was sent
		b, _ := json.Marshal(body)
		m.text(string(b))
		m.done("stop")
	default:
		m.text("You said " + text + ".")
		m.done("stop")
	}
	f.status("idle")
	f.status("idle") // it says so more than once
}

// useTools calls a tool, or two at once, and reports the answers in their order.
func (f *fake) useTools(m *fakeMessage, both bool) {
	calls := []string{"call_1"}
	if both {
		calls = append(calls, "call_2")
	}
	var parts []object
	for i, id := range calls {
		// The request comes before the input.
		f.say("permission.asked", object{
			"id": fmt.Sprintf("per_%d", i+1), "permission": "bash", "patterns": []string{"x"},
			"tool": object{"messageID": m.info["id"], "callID": id},
		})
		parts = append(parts, m.part(object{"type": "tool", "callID": id, "tool": "bash", "state": object{"status": "running", "input": object{"command": "touch " + id}}}))
	}
	for range calls {
		select {
		case answer := <-f.answers:
			i := 0
			if strings.Contains(answer["path"].(string), "per_2") {
				i = 1
			}
			b, _ := json.Marshal(answer)
			state := object{"status": "completed", "input": object{"command": "touch " + calls[i]}, "output": string(b), "metadata": object{"exit": 0}}
			if answer["reply"] == "reject" {
				state = object{"status": "error", "input": object{"command": "touch " + calls[i]}, "error": string(b)}
			}
			parts[i]["state"] = state
			f.say("message.part.updated", object{"part": parts[i]})
		case <-time.After(30 * time.Second):
			panic("nobody answers")
		}
	}
}
