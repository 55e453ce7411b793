package codex

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// greet introduces us, and has Codex trust our hooks and say whether it can reach its
// model.
func (p *process) greet(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, terret.Errorf(terret.CodeTimeout,
		"Codex did not answer within %s of its start; run `codex` in the folder to see what keeps it", patience))
	defer cancel()
	var about struct {
		UserAgent string `json:"userAgent"`
	}
	err := p.conn.Call(ctx, "initialize", object{
		"clientInfo":   object{"name": "terret", "title": "Terret", "version": "0"},
		"capabilities": object{"experimentalApi": true},
	}, &about)
	if err == nil {
		err = p.conn.Notify(ctx, "initialized", object{})
	}
	if err != nil {
		return p.neverReady(ctx, err)
	}
	_, version, _ := strings.Cut(about.UserAgent, "/")
	p.version = seat.VersionIn(version)
	if err := p.trustHooks(ctx); err != nil {
		return p.neverReady(ctx, err)
	}
	signedIn, err := p.signedIn(ctx)
	if err != nil {
		return p.neverReady(ctx, err)
	}
	if signedIn == "missing" {
		return terret.Errorf(terret.CodeNotAuthenticated, "%s", notSignedIn)
	}
	return nil
}

// trustHooks finds out by what hashes Codex knows our hooks. It runs only those that a
// person trusts, or whose hash its settings hold.
func (p *process) trustHooks(ctx context.Context) error {
	if p.relay == nil {
		return nil
	}
	var list struct {
		Data []struct {
			Hooks []struct {
				Key     string `json:"key"`
				Hash    string `json:"currentHash"`
				Command string `json:"command"`
			} `json:"hooks"`
		} `json:"data"`
	}
	err := p.conn.Call(ctx, "hooks/list", object{"cwds": []string{p.launch.dir}}, &list)
	if said, ok := errors.AsType[*rpc.Error](err); ok {
		p.Log.Warn("Codex does not list its hooks", "error", said)
		return nil
	}
	p.trusted = map[string]any{}
	for _, entry := range list.Data {
		for _, h := range entry.Hooks {
			if h.Command == p.relay.command() {
				p.trusted[h.Key] = object{"enabled": true, "trusted_hash": h.Hash}
			}
		}
	}
	p.hooked = len(p.trusted) > len(p.launch.gates)
	return err
}

// signedIn says whether Codex can reach its model: ok, missing or unknown.
func (p *process) signedIn(ctx context.Context) (string, error) {
	var account struct {
		Account json.RawMessage `json:"account"`
		Needed  *bool           `json:"requiresOpenaiAuth"`
	}
	if err := p.conn.Call(ctx, "account/read", object{}, &account); err != nil {
		return refused(err)
	}
	switch {
	case account.Needed == nil:
		return "unknown", nil
	case *account.Needed && !isSet(account.Account):
		return "missing", nil
	case *account.Needed:
		return "ok", nil
	}
	var settings struct {
		Config struct {
			Provider  string `json:"model_provider"`
			Providers map[string]struct {
				EnvKey string `json:"env_key"`
			} `json:"model_providers"`
		} `json:"config"`
	}
	if err := p.conn.Call(ctx, "config/read", object{}, &settings); err != nil {
		return refused(err)
	}
	key := settings.Config.Providers[settings.Config.Provider].EnvKey
	if key != "" && seat.Lookup(p.launch.env, key) == "" {
		return "missing", nil
	}
	return "ok", nil
}

// refused is for an older or newer version, which does not know what was asked.
func refused(err error) (string, error) {
	if _, ok := errors.AsType[*rpc.Error](err); ok {
		return "unknown", nil
	}
	return "unknown", err
}

// neverReady says why a process could not be greeted.
func (p *process) neverReady(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if said, ok := errors.AsType[*rpc.Error](err); ok {
		return terret.Errorf(terret.CodeStartupRefused, "Codex refused to start: %s", p.Redact.String(said.Message))
	}
	return p.NeverReady(ctx, "Codex did not start", "run `codex` in the folder to see what it lacks")
}
