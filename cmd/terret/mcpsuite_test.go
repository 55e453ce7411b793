package main

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestMCPServerSuite runs the official conformance suite on /mcp of a server. A proxy adds the
// token, which the suite cannot send.
func TestMCPServerSuite(t *testing.T) {
	t.Parallel()
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the official suite: run `make conformance`, which installs it")
	}
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "TERRET_MODEL=demo"}
	ctx, stop := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, newApp(strings.NewReader(""), out, io.Discard, env), []string{"serve", "--addr", "127.0.0.1:0"})
		out.Close()
	}()
	defer func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("terret serve ended with %d", code)
		}
	}()
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	address, err := url.Parse(strings.TrimSpace(strings.TrimPrefix(line, "listening on ")))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(home, "terret", "token"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Host = r.In.Host // a scenario names others
		r.Out.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}})
	defer proxy.Close()
	known, err := filepath.Abs("testdata/mcp-suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	agenttest.MCPSuite(t, "server", known, nil, "--url", proxy.URL+"/mcp")
}
