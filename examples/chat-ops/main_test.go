package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestOnlyTheServerIsHeard holds that the chat is told what the server signed, once, and
// nothing else; and that what the chat did not take is taken again.
func TestOnlyTheServerIsHeard(t *testing.T) {
	t.Parallel()
	var heard []string
	down := true
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		heard = append(heard, string(text))
	}))
	defer chat.Close()
	now := time.Unix(1_800_000_000, 0)
	b := &bridge{secret: "s", chatURL: chat.URL, chatToken: "c", now: func() time.Time { return now }, told: map[string]time.Time{}, shown: map[string]string{}}
	post := func(secret, body string, age time.Duration) int {
		at := fmt.Sprint(now.Add(-age).Unix())
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, at+"."+body)
		r := httptest.NewRequest("POST", "/terret", strings.NewReader(body))
		r.Header.Set("Terret-Timestamp", at)
		r.Header.Set("Terret-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		b.handler().ServeHTTP(w, r)
		return w.Code
	}
	message := func(id string) string { return `{"id":"` + id + `","event":"done","title":"It is done"}` }
	for _, c := range []struct {
		secret, body string
		age          time.Duration
		code         int
	}{
		{"s", message("1"), 0, 502},
		{"s", message("1"), 0, 200},
		{"s", message("1"), time.Minute, 200}, // a repetition
		{"wrong", message("2"), 0, 401},
		{"s", message("3"), window + time.Second, 401},
		{"s", message("4"), -window - time.Second, 401},
		{"s", "no json", 0, 400},
		{"s", message("5") + strings.Repeat(" ", 64<<10), 0, 401},
	} {
		if got := post(c.secret, c.body, c.age); got != c.code {
			t.Errorf("%+.60v: %d", c, got)
		}
		down = false
	}
	if len(heard) != 1 || !strings.Contains(heard[0], "It is done") {
		t.Errorf("%q", heard)
	}
}

// TestOnlyTheChatIsHeard holds who may answer, and what.
func TestOnlyTheChatIsHeard(t *testing.T) {
	t.Parallel()
	b := &bridge{chatToken: "c", now: time.Now, shown: map[string]string{}}
	for _, c := range []struct {
		kind, body string
		code       int
		says       string
	}{
		{"application/x-www-form-urlencoded", "token=c&text=what", 200, "Write: allow REQUEST"},
		{"application/x-www-form-urlencoded", "token=c&text=allow+req_1", 200, "was not shown here"},
		{"application/json", `{"token":"c","text":"deny req_1"}`, 200, "was not shown here"},
		{"application/json", `{"token":"x","text":"allow req_1"}`, 401, "not our chat"},
		{"application/json", `nonsense`, 401, "not our chat"},
		{"application/x-www-form-urlencoded", "text=allow+req_1", 401, "not our chat"},
	} {
		r := httptest.NewRequest("POST", "/chat", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		b.handler().ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
		}
	}
}
