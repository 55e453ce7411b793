package native

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/sse"
)

// Provider is an API with models.
type Provider struct {
	BaseURL string // the part before /chat/completions, such as http://127.0.0.1:8000/v1
	KeyEnv  string // the variable that holds the key; empty means that it needs none
	// API is what it speaks: chat (OpenAI's Chat Completions, as nearly all do),
	// responses (OpenAI's), anthropic or gemini. Empty means chat.
	API string
	// Headers are sent with each request.
	Headers map[string]string
}

// dialect is a way to speak to models.
type dialect struct {
	speak func(*endpoint) model
	auth  func(h http.Header, variable, key string) // nil means a bearer token
	list  string                                    // where the API lists its models
}

// dialects are those that we speak, by the name of the API.
func dialects() map[string]dialect {
	return map[string]dialect{
		"chat":      {speakChat, nil, "models"},
		"responses": {func(e *endpoint) model { return &responses{endpoint: e} }, nil, "models"},
		"anthropic": {func(e *endpoint) model { return &claude{endpoint: e} }, anthropicAuth, "v1/models?limit=1000"},
		"gemini":    {func(e *endpoint) model { return &gemini{endpoint: e} }, geminiAuth, "v1beta/models"},
	}
}

// provider is where models are.
type provider struct {
	name    string // in the names of its models, before the slash
	title   string
	base    string   // its address
	baseEnv string   // the variable that holds another address; empty means there is none
	keys    []string // variables, of which one holds the key; none means that it needs no key
	model   string   // the default; empty means there is none
	api     string   // what it speaks, see dialects
	headers map[string]string
	abroad  string // what servers at other addresses speak; empty means the same
}

// builtIn are the providers that everybody has.
func builtIn() []provider {
	return []provider{
		{
			name: "anthropic", title: "Anthropic", base: "https://api.anthropic.com", baseEnv: anthropicBase, keys: []string{anthropicKey, anthropicToken},
			model: "claude-sonnet-4-5", api: "anthropic",
		},
		{name: "openai", title: "OpenAI", base: "https://api.openai.com/v1", baseEnv: "OPENAI_BASE_URL", keys: []string{"OPENAI_API_KEY"}, model: "gpt-5.5", api: "responses", abroad: "chat"},
		{name: "gemini", title: "Google", base: "https://generativelanguage.googleapis.com", baseEnv: "GOOGLE_GEMINI_BASE_URL", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, model: "gemini-2.5-pro", api: "gemini"},
		{name: "openrouter", title: "OpenRouter", base: "https://openrouter.ai/api/v1", baseEnv: "OPENROUTER_BASE_URL", keys: []string{"OPENROUTER_API_KEY"}, api: "chat"},
		{name: "ollama", title: "Ollama", base: "http://127.0.0.1:11434/v1", baseEnv: "OLLAMA_BASE_URL", api: "chat"},
	}
}

func speakChat(e *endpoint) model { return &chat{e} }

// providers are all of them. Those of the configuration may replace built-in ones.
func (c Config) providers() []provider {
	all, added := builtIn(), map[string]Provider{}
	if c.MoreProviders != nil {
		maps.Copy(added, c.MoreProviders())
	}
	maps.Copy(added, c.Providers)
	for _, name := range slices.Sorted(maps.Keys(added)) {
		p := added[name]
		own := provider{name: name, title: name, base: p.BaseURL, api: cmp.Or(p.API, "chat"), headers: p.Headers}
		if p.KeyEnv != "" {
			own.keys = []string{p.KeyEnv}
		}
		all = slices.DeleteFunc(all, func(p provider) bool { return p.name == name })
		all = append(all, own)
	}
	return all
}

// ProviderNames are the names of all of them.
func (c Config) ProviderNames() []string {
	var names []string
	for _, p := range c.providers() {
		names = append(names, p.name)
	}
	return names
}

// ProviderState is what is known about a provider without asking it.
type ProviderState struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	BaseURL string   `json:"base_url"`
	API     string   `json:"api"`
	KeyEnv  []string `json:"key_env"`         // variables, of which one may hold its key; none if it needs no key
	Key     KeyState `json:"key"`             // whether there is a key
	Model   string   `json:"model,omitempty"` // that it is asked for if none is named
}

// KeyState says whether there is a provider's key, and where.
type KeyState string

// Where keys are.
const (
	KeyNotNeeded KeyState = "not needed"
	KeyVariable  KeyState = "variable"   // of the environment
	KeyKept      KeyState = "kept"       // by Config.Key
	KeyMissing   KeyState = "missing"    // there is none
	KeyUnread    KeyState = "unreadable" // it is kept, but cannot be read
)

// Providers lists all providers that there are now. It shows no key.
func (d *Driver) Providers() []ProviderState {
	var out []ProviderState
	for _, p := range d.cfg.providers() {
		s := ProviderState{Name: p.name, Title: p.title, BaseURL: p.base, API: p.api, KeyEnv: append([]string{}, p.keys...), Key: d.keyState(p), Model: p.model}
		if p.baseEnv != "" && d.setting(p.baseEnv) != "" {
			if s.BaseURL = "(" + p.baseEnv + ")"; p.abroad != "" {
				s.API = p.abroad
			}
			if u, err := url.Parse(d.setting(p.baseEnv)); err == nil { // others may hold a password
				s.BaseURL = u.Redacted()
			}
		}
		out = append(out, s)
	}
	return out
}

func (d *Driver) keyState(p provider) KeyState {
	switch {
	case len(p.keys) == 0:
		return KeyNotNeeded
	case slices.ContainsFunc(p.keys, func(k string) bool { return d.setting(k) != "" }):
		return KeyVariable
	}
	key, err := d.kept(p)
	switch {
	case err != nil:
		return KeyUnread
	case key != "":
		return KeyKept
	}
	return KeyMissing
}

// signedIn reports whether the provider has a key, if it needs one.
func (d *Driver) signedIn(p provider) bool {
	if len(p.keys) == 0 || slices.ContainsFunc(p.keys, func(k string) bool { return d.setting(k) != "" }) {
		return true
	}
	key, err := d.kept(p)
	return key != "" || err != nil // the error is said when it is used
}

// kept is the provider's key that is not in the environment; empty if there is none.
func (d *Driver) kept(p provider) (string, error) {
	if d.cfg.Key == nil {
		return "", nil
	}
	key, err := d.cfg.Key(p.name)
	if err != nil {
		return "", terret.Errorf(terret.CodeNotAuthenticated, "%w", err)
	}
	return key, nil
}

// endpoint is the provider's API for a model.
func (d *Driver) endpoint(p provider, name string) (*endpoint, error) {
	e := &endpoint{provider: p, model: name, client: d.net.client(), header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {sse.ContentType}, "User-Agent": {"terret"},
	}}
	if !d.signedIn(p) {
		return nil, terret.Errorf(terret.CodeNotAuthenticated, "there is no key for %s's models; set %s, keep one with `terret keys set %s`, or use the demo model with --model demo", p.title, p.keys[0], p.name)
	}
	if p.abroad != "" && d.setting(p.baseEnv) != "" {
		p.api = p.abroad
	}
	var ok bool
	if e.dialect, ok = dialects()[p.api]; !ok {
		return nil, terret.Invalid("providers."+p.name+".api", "%q is not an API that Terret speaks; use one of %s", p.api, strings.Join(sorted(dialects()), ", "))
	}
	for name, value := range p.headers {
		e.header.Set(name, value)
	}
	given := map[string]string{}
	for _, variable := range p.keys {
		given[variable] = d.setting(variable)
	}
	if len(p.keys) > 0 && !slices.ContainsFunc(p.keys, func(k string) bool { return given[k] != "" }) {
		key, err := d.kept(p)
		if err != nil {
			return nil, err
		}
		given[p.keys[0]] = key
	}
	secrets := map[string]string{}
	for _, variable := range p.keys {
		key := given[variable]
		if key == "" {
			continue
		}
		if secrets[variable] = key; len(secrets) == 1 { // the first one counts
			if e.auth != nil {
				e.auth(e.header, variable, key)
			} else {
				e.header.Set("Authorization", "Bearer "+key)
			}
		}
	}
	address, from := p.base, "providers."+p.name+".base_url"
	if p.baseEnv != "" {
		if from = p.baseEnv; d.setting(p.baseEnv) != "" {
			address = d.setting(p.baseEnv)
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, terret.Errorf(terret.CodeInvalidRequest, "%s is not the address of an API; it must look like %s", from, builtIn()[0].base)
	}
	if password, ok := u.User.Password(); ok {
		secrets[from] = password
	}
	e.base, e.secrets = u, redact.New(secrets)
	return e, nil
}

// keyName is how messages name the key.
func (p provider) keyName() string {
	if len(p.keys) == 0 {
		return "(none was sent)"
	}
	return p.keys[0]
}

// addressName is how messages name the address.
func (p provider) addressName() string {
	if p.baseEnv != "" {
		return p.baseEnv
	}
	return "providers." + p.name + ".base_url"
}

// find splits the name of a model into its provider and the API's own name of it.
func (c Config) find(name string) (p provider, rest string, ok bool) {
	before, rest, _ := strings.Cut(name, "/")
	all := c.providers()
	i := slices.IndexFunc(all, func(p provider) bool { return p.name == before })
	if i < 0 || rest == "" {
		return provider{}, "", false
	}
	return all[i], rest, true
}
