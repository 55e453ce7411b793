package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
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
