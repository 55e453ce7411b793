package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{d.auth()}, http.StatusOK},
		{[]string{"Authorization: bearer " + d.admin}, http.StatusOK},
		{[]string{"Authorization: Bearer  " + d.admin}, http.StatusOK},
		{nil, http.StatusUnauthorized},
		{[]string{"Authorization: "}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer"}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer "}, http.StatusUnauthorized},
		{[]string{"Authorization: " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Basic " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + d.admin + " x"}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + d.admin + ",x"}, http.StatusUnauthorized},
		{[]string{d.auth(), d.auth()}, http.StatusUnauthorized},
		{[]string{"Cookie: token=" + d.admin}, http.StatusUnauthorized},
		{[]string{"X-Api-Key: " + d.admin}, http.StatusUnauthorized},
		{[]string{"Proxy-Authorization: Bearer " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + strings.Repeat("x", 1<<16)}, http.StatusUnauthorized},
	} {
		w := d.want(c.want, d.request("GET", "/v1/x", "", c.headers...))
		if c.want != http.StatusUnauthorized {
			continue
		}
		if w.Header().Get("WWW-Authenticate") == "" {
			t.Error("401 without WWW-Authenticate")
		}
		var problem struct {
			Type, Detail string
			Status       int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Type != "unauthorized" || problem.Status != 401 || problem.Detail == "" {
			t.Errorf("problem %s: %v", w.Body, err)
		}
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, headers := range [][]string{nil, {d.auth()}, {"Authorization: Bearer wrong"}} {
		if w := d.want(http.StatusOK, d.request("GET", "/healthz", "", headers...)); w.Body.String() != `hello ""` {
			t.Errorf("somebody is known where nobody was looked at: %s", w.Body)
		}
	}
	if w := d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth())); w.Body.String() != `hello "admin"` {
		t.Errorf("%s", w.Body)
	}
}

func TestFailuresAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	synctest.Test(t, func(t *testing.T) {
		d := *d
		d.t = t
		d.gate.limit = newLimiter() // with the bubble's clock
		wrong := func(from string) *httptest.ResponseRecorder {
			r := d.request("GET", "/v1/x", "", "Authorization: Bearer wrong")
			r.RemoteAddr = from
			return d.do(r)
		}
		const here = "127.0.0.1:1"
		for i := range int(addressRate.burst) {
			if w := wrong(here); w.Code != http.StatusUnauthorized {
				t.Fatalf("failure %d: %d", i, w.Code)
			}
		}
		w := wrong("127.0.0.1:2") // another port is the same address
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "6" {
			t.Errorf("one too many: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		if w := wrong("10.0.0.1:1"); w.Code != http.StatusUnauthorized {
			t.Errorf("another address: %d", w.Code)
		}
		// Nobody is locked out, and what has no token is no failure.
		d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth()))
		for range 100 {
			d.want(http.StatusUnauthorized, d.request("GET", "/v1/x", ""))
		}
		time.Sleep(6 * time.Second)
		if w := wrong(here); w.Code != http.StatusUnauthorized {
			t.Errorf("after waiting: %d", w.Code)
		}
		if w := wrong(here); w.Code != http.StatusTooManyRequests {
			t.Errorf("and again: %d", w.Code)
		}
	})
}

func TestFailuresOfAllAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	last := 0
	for i := range int(globalRate.burst) + 50 {
		r := d.request("GET", "/v1/x", "", "Authorization: Bearer wrong")
		r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i/250, i%250+1)
		last = d.do(r).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("many addresses: %d", last)
	}
	d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth()))
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
		for i := range 2 * maxAddresses {
			l.fail(at(i))
		}
		if len(l.address) > maxAddresses {
			t.Errorf("%d addresses are remembered", len(l.address))
		}
		time.Sleep(time.Hour)
		l.fail(at(9 * maxAddresses))
		if len(l.address) != 1 {
			t.Errorf("%d addresses are remembered after an hour", len(l.address))
		}
		// A network of IPv6 is one source, as is an address in its other form.
		for i := range 12 {
			l.fail(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}))
		}
		if l.fail(netip.MustParseAddr("2001::ffff")) == 0 || l.fail(netip.MustParseAddr("2001:0:0:1::1")) > 0 {
			t.Error("networks are not told apart")
		}
		for range 12 {
			l.fail(netip.MustParseAddr("::ffff:10.9.9.9"))
		}
		if l.fail(netip.MustParseAddr("10.9.9.9")) == 0 {
			t.Error("an address in two forms is two")
		}
		l.fail(netip.Addr{}) // not known: counted as one
	})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	code := d.tokens.NewCode()
	w := d.want(http.StatusOK, d.request("POST", "/signin", "", "X-Code: "+code))
	secret, _, _ := strings.Cut(w.Body.String(), " ")
	if w := d.want(http.StatusOK, d.request("GET", "/v1/x", "", "Authorization: Bearer "+secret)); w.Body.String() != `hello "phone"` {
		t.Errorf("%s", w.Body)
	}
	// Wrong codes lock nobody out who has a right one.
	waiting := d.tokens.NewCode()
	for range int(addressRate.burst) {
		d.want(http.StatusUnauthorized, d.request("POST", "/signin", "", "X-Code: "+code))
	}
	w = d.want(http.StatusTooManyRequests, d.request("POST", "/signin", "", "X-Code: "+code))
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	d.want(http.StatusOK, d.request("POST", "/signin", "", "X-Code: "+waiting))
}

// No answer and no log line holds a token or a code, also a wrong one.
func TestNothingTellsSecrets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDoor(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	const guess = "canary-canary-canary-canary"
	for _, r := range []*http.Request{
		d.request("GET", "/v1/x", "", "Authorization: Bearer "+guess),
		d.request("GET", "/v1/x?token="+guess, "", "Authorization: Basic "+guess),
		d.request("POST", "/signin", "", "X-Code: "+guess),
	} {
		if w := d.do(r); w.Code < 400 || strings.Contains(w.Body.String(), guess) || strings.Contains(fmt.Sprint(w.Header()), guess) {
			t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
		}
	}
	if !strings.Contains(log.String(), "sign-in failed") || strings.Contains(log.String(), guess) {
		t.Errorf("log: %s", log.String())
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	if s, ok := RetryAfter(fmt.Errorf("x: %w", tooMany(1500*time.Millisecond))); s != 2 || !ok {
		t.Errorf("%d, %v", s, ok)
	}
	if _, ok := RetryAfter(errors.New("x")); ok {
		t.Error("any error is about too many failures")
	}
	if e := tooMany(time.Nanosecond); !e.Retryable || e.Code != terret.CodeRateLimited {
		t.Errorf("%+v", e)
	}
}
