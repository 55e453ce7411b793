// Command chat-ops is a bridge between a server and a chat: what waits for somebody is said in
// the chat, and whoever writes "allow REQUEST" or "deny REQUEST why" there answers it. README.md
// of the examples says how to set up both sides.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// window is how old a message of the server may be.
const window = 5 * time.Minute

// bridge knows both sides. Its secrets come from the environment, never from arguments.
type bridge struct {
	terret    *client.Client
	secret    string // of the webhook, which signs what the server says
	chatURL   string // takes {"text": "…"}, as Slack, Mattermost and Rocket.Chat do
	chatToken string // the chat sends it along
	now       func() time.Time

	mu   sync.Mutex
	told map[string]time.Time // deliveries that the chat has seen
	// shown is what the chat has seen of a request, by its id: only that can be answered.
	shown map[string]string
}

func main() {
	b := &bridge{
		secret: os.Getenv("WEBHOOK_SECRET"), chatURL: os.Getenv("CHAT_URL"), chatToken: os.Getenv("CHAT_TOKEN"),
		now: time.Now, told: map[string]time.Time{}, shown: map[string]string{},
	}
	err := errors.New("set WEBHOOK_SECRET, CHAT_URL, CHAT_TOKEN and TERRET_TOKEN")
	if b.secret != "" && b.chatURL != "" && b.chatToken != "" && os.Getenv("TERRET_TOKEN") != "" {
		b.terret, err = client.New(cmp.Or(os.Getenv("TERRET_URL"), "http://127.0.0.1:7433"), client.Options{Token: os.Getenv("TERRET_TOKEN")})
	}
	if err == nil {
		err = listen(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:7435"), b.handler())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chat-ops:", err)
		os.Exit(1)
	}
}

// listen serves until somebody presses Ctrl-C.
func listen(addr string, h http.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "webhook: http://%s/terret, chat: http://%s/chat\n", l.Addr(), l.Addr())
	server := &http.Server{Handler: h, ReadTimeout: 30 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (b *bridge) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /terret", b.fromTerret)
	mux.HandleFunc("POST /chat", b.fromChat)
	return mux
}

// fromTerret passes a message of the server on. Until it was, the server tries again.
func (b *bridge) fromTerret(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil || !b.signed(r.Header, body) {
		http.Error(w, "the signature is wrong, or too old", http.StatusUnauthorized)
		return
	}
	var m struct{ ID, Event, Title, Text, Request, URL string }
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, "this is no message", http.StatusBadRequest)
		return
	}
	if !b.first(m.ID) {
		return
	}
	text := strings.Join([]string{m.Title, m.Text, m.URL}, "\n")
	if m.Request != "" {
		text = b.describe(r.Context(), m.Request, text)
	}
	if err := b.say(r.Context(), text); err != nil {
		b.forget(m.ID)
		http.Error(w, "the chat cannot be reached", http.StatusBadGateway)
	}
}

// signed checks that the server sent the body, and not long ago.
func (b *bridge) signed(h http.Header, body []byte) bool {
	at := h.Get("Terret-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || b.now().Sub(time.Unix(seconds, 0)).Abs() > window {
		return false
	}
	mac := hmac.New(sha256.New, []byte(b.secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return hmac.Equal([]byte(h.Get("Terret-Signature")), []byte("sha256="+hex.EncodeToString(mac.Sum(nil))))
}

// first reports whether a delivery is new: the server may send it twice, others again.
func (b *bridge) first(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for old, at := range b.told {
		if b.now().Sub(at) > 2*window { // its timestamp is too old by now
			delete(b.told, old)
		}
	}
	_, told := b.told[id]
	b.told[id] = b.now()
	return !told
}

func (b *bridge) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.told, id)
}

// describe says what a request asks, and remembers what was shown of it. What does not fit
// whole can only be answered elsewhere.
func (b *bridge) describe(ctx context.Context, id, text string) string {
	r, err := b.terret.Request(ctx, id)
	var ask terret.PermissionRequest
	if err != nil || r.Gate != terret.GatePermission || json.Unmarshal(r.Data, &ask) != nil || len(ask.Input) > 1500 {
		return text
	}
	b.mu.Lock()
	b.shown[id] = ask.InputHash
	b.mu.Unlock()
	return fmt.Sprintf("%s\n%s: `%s`\nAnswer with: allow %s, or: deny %s why", text, ask.Tool, ask.Input, id, id)
}

// fromChat answers a request with what somebody wrote: a form, as chats send it, or JSON.
func (b *bridge) fromChat(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	m := struct {
		Token, Text string
		User        string `json:"user_name"`
	}{r.FormValue("token"), r.FormValue("text"), r.FormValue("user_name")}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		_ = json.NewDecoder(r.Body).Decode(&m) // what cannot be read has no token
	}
	if !hmac.Equal([]byte(m.Token), []byte(b.chatToken)) {
		http.Error(w, "this is not our chat", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"text": b.answer(r.Context(), m.User, m.Text)})
}

// answer returns what to say to somebody who wrote a text.
func (b *bridge) answer(ctx context.Context, user, text string) string {
	words := strings.Fields(text)
	if len(words) < 2 || words[0] != "allow" && words[0] != "deny" {
		return "Write: allow REQUEST, or: deny REQUEST why"
	}
	b.mu.Lock()
	hash, shown := b.shown[words[1]]
	b.mu.Unlock()
	if !shown {
		return "That request was not shown here; open the session to decide."
	}
	reason := strings.Join(append([]string{user, "in the chat:"}, words[2:]...), " ")
	d := terret.Decision{RequestID: words[1], Behavior: terret.Behavior(words[0]), Reason: reason, InputHash: hash}
	if _, err := b.terret.Decide(ctx, d, ""); err != nil {
		return terret.AsError(err).Message
	}
	return words[0] + " it is."
}

// say posts a text to the chat.
func (b *bridge) say(ctx context.Context, text string) error {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second) // the server waits for ten
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.chatURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the chat answered %s", res.Status)
	}
	return nil
}
