package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/terret-dev/terret/client"
)

// A program elsewhere makes a session on a server and gives it something to do. The
// server here answers as `terret serve` does; its token is in the data folder.
func Example() {
	server := httptest.NewServer(serving(map[string]string{
		"POST /v1/sessions": `{"id": "0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e", "agent": "claude", "cwd": "/project"}`,
		"POST /v1/sessions/0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e/turns": `{"id": "trn_0195e0c5-01d2-7b4e-8c3a-5f6e7d8c9b0a", "state": "running"}`,
	}))
	defer server.Close()

	ctx := context.Background()
	c, err := client.New(server.URL, client.Options{Token: "not-a-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.CreateSession(ctx, client.NewSession{Cwd: "/project"})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := c.Prompt(ctx, s.ID, client.NewTurn{Prompt: "What is in this folder?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Agent, "works:", t.State)
	// Output: claude works: running
}

// serving answers with JSON.
func serving(answers map[string]string) http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, answer) })
	}
	return mux
}
