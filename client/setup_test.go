package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/client"
)

// TestSetup holds what is asked of the server, byte for byte.
func TestSetup(t *testing.T) {
	t.Parallel()
	var asked []string
	answer := "{}"
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(hs.Close)
	c, err := client.New(hs.URL, client.Options{Token: "x", HTTP: hs.Client()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(v any, err error, want string) {
		t.Helper()
		got, encodeErr := json.Marshal(v)
		if err != nil || encodeErr != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	answer = `{"items":[{"name":"openai","where":"file"}]}`
	keys, err := c.Keys(ctx)
	check(keys, err, `[{"name":"openai","where":"file"}]`)
	answer = `{"name":"openai","where":"file"}`
	key, err := c.AddKey(ctx, "openai", "k")
	check(key, err, answer)
	check(nil, c.RemoveKey(ctx, "openai"), "null")
	answer = `{"items":[{"name":"lab","title":"lab","base_url":"http://x/v1","api":"chat","key_env":["LAB_KEY"],"key":"kept","added":true}]}`
	providers, err := c.Providers(ctx)
	check(providers, err, answer[len(`{"items":`):len(answer)-1])
	answer = `{"name":"lab","title":"lab","base_url":"http://x/v1","api":"chat","key_env":["LAB_KEY"],"key":"missing","added":true}`
	provider, err := c.AddProvider(ctx, client.NewProvider{Name: "lab", BaseURL: "http://x/v1", API: "chat", KeyEnv: "LAB_KEY"})
	check(provider, err, answer)
	check(nil, c.RemoveProvider(ctx, "lab"), "null")
	answer = `{"items":[{"id":"lab/one","name":"one"}]}`
	models, err := c.ProviderModels(ctx, "lab")
	check(models, err, `[{"id":"lab/one","name":"one"}]`)
	answer = `{"path":"c","there":true,"text":"{}","hash":"h","settings":[{"key":"policy","value":"-","from":"default"}]}`
	config, err := c.Config(ctx)
	check(config, err, answer)
	config, err = c.PutConfig(ctx, "{}", "h")
	check(config, err, answer)
	answer = `{"faults":[{"line":1,"column":2,"message":"no"}]}`
	faults, err := c.CheckConfig(ctx, "{")
	check(faults, err, `[{"line":1,"column":2,"message":"no"}]`)
	answer = `{"items":[{"agent":"pi","title":"Pi","command":"npm install","runs":true}]}`
	installers, err := c.Installers(ctx)
	check(installers, err, `[{"agent":"pi","title":"Pi","command":"npm install","runs":true}]`)
	answer = `{"agent":"pi","command":"npm install","by":"admin","began_at":"2026-01-01T00:00:00.000000Z","state":"running"}`
	installation, err := c.InstallAgent(ctx, "pi")
	check(installation, err, answer)
	installation, err = c.Installation(ctx)
	check(installation, err, answer)
	installation, err = c.CancelInstallation(ctx)
	check(installation, err, answer)
	answer = `{"items":[{"name":"mcp-x","where":"file"}]}`
	signIns, err := c.MCPSignIns(ctx)
	check(signIns, err, `[{"name":"mcp-x","where":"file"}]`)
	answer = `{"server":"http://x","state":"waiting","link":"http://y"}`
	signIn, err := c.BeginMCPSignIn(ctx, "http://x")
	check(signIn, err, answer)
	signIn, err = c.AnswerMCPSignIn(ctx, "http://z")
	check(signIn, err, answer)
	check(nil, c.CancelMCPSignIn(ctx), "null")
	check(nil, c.MCPSignOut(ctx, "mcp-x"), "null")
	if diff := cmp.Diff([]string{
		`GET /v1/keys `,
		`POST /v1/keys {"key":"k","name":"openai"}`,
		`DELETE /v1/keys/openai `,
		`GET /v1/providers `,
		`POST /v1/providers {"name":"lab","base_url":"http://x/v1","api":"chat","key_env":"LAB_KEY"}`,
		`DELETE /v1/providers/lab `,
		`GET /v1/providers/lab/models `,
		`GET /v1/config `,
		`PUT /v1/config {"hash":"h","text":"{}"}`,
		`POST /v1/config/check {"text":"{"}`,
		`GET /v1/installers `,
		`POST /v1/installers/pi `,
		`GET /v1/installation `,
		`DELETE /v1/installation `,
		`GET /v1/mcp/sign-ins `,
		`POST /v1/mcp/sign-ins {"server":"http://x"}`,
		`POST /v1/mcp/sign-in/answer {"address":"http://z"}`,
		`DELETE /v1/mcp/sign-in `,
		`DELETE /v1/mcp/sign-ins/mcp-x `,
	}, asked); diff != "" {
		t.Error(diff)
	}
}
