package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptHTTP sends a request, and prints status and body on one line:
// http [-home] [-token TOKEN] [-accept TYPE] METHOD URL [BODY]. With -home it carries
// the token of the data folder.
func scriptHTTP(ts *testscript.TestScript, _ bool, args []string) {
	header := http.Header{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-home":
			token, err := os.ReadFile(filepath.Join(ts.Getenv("TERRET_HOME"), "token"))
			ts.Check(err)
			header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		case "-token":
			header.Set("Authorization", "Bearer "+args[1])
			args = args[1:]
		case "-accept":
			header.Set("Accept", args[1])
			args = args[1:]
		}
		args = args[1:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body := strings.Join(args[2:], " ")
	req, err := http.NewRequestWithContext(ctx, args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	req.Header = header
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	tr := &http.Transport{ResponseHeaderTimeout: time.Minute}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Do(req)
	ts.Check(err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d %s\n", res.StatusCode, bytes.Join(bytes.Fields(got), []byte(" ")))
	ts.Check(err)
}

// scriptReceiver starts a webhook and ntfy server, which writes what it gets to a file, one
// line each, and says 410 below /gone: receiver VARIABLE FILE. The variable is its address.
func scriptReceiver(ts *testscript.TestScript, _ bool, args []string) {
	got, err := os.OpenFile(ts.MkAbs(args[1]), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ts.Check(err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		who := "somebody"
		if r.Header.Get("Terret-Signature") != "" {
			who = "signed"
		} else if r.Header.Get("Authorization") == "Bearer canary-0123456789" {
			who = "token"
		}
		if strings.HasPrefix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusGone)
		}
		_, _ = fmt.Fprintf(got, "%s %s %s %s\n", r.Method, r.URL.Path, who, body)
	}))
	ts.Defer(func() { s.Close(); _ = got.Close() })
	ts.Setenv(args[0], s.URL)
}
