package native

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

const (
	listPatience = 3 * time.Second
	askPatience  = 10 * time.Second // for one that a person asks
	maxList      = 8 << 20          // bytes
)

// Models lists the models that can be used with the available keys. All providers are
// asked for theirs; one that does not answer soon is left out, but for Anthropic's known
// models.
func (d *Driver) Models(ctx context.Context) ([]terret.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	known, err := d.table()
	if err != nil {
		return nil, err
	}
	all := d.cfg.providers()
	found := make([][]terret.Model, len(all))
	var asking sync.WaitGroup
	for i, p := range all {
		switch {
		case !d.signedIn(p):
		case p.name == "anthropic":
			asking.Go(func() {
				if found[i] = d.offered(ctx, p, known); len(found[i]) == 0 {
					found[i] = known.of(p.name) // not every address that speaks the API lists them
				}
			})
		case len(p.keys) > 0 || p.baseEnv == "" || d.setting(p.baseEnv) != "": // somebody wants it
			asking.Go(func() { found[i] = d.offered(ctx, p, known) })
		}
	}
	asking.Wait()
	models := []terret.Model{{ID: DemoModel, Name: "Demo: follows plain requests, no key needed"}}
	for _, f := range found {
		models = append(models, f...)
	}
	return models, nil
}

// ModelsOf lists the models of one provider, as it says itself. Unlike Models it says why
// there are none.
func (d *Driver) ModelsOf(ctx context.Context, name string) ([]terret.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	all := d.cfg.providers()
	i := slices.IndexFunc(all, func(p provider) bool { return p.name == name })
	if i < 0 {
		return nil, terret.Errorf(terret.CodeNotFound, "there is no provider %.64q", name)
	}
	e, err := d.endpoint(all[i], "")
	if err != nil {
		return nil, err
	}
	list, err := e.list(ctx)
	if err != nil {
		return nil, terret.Errorf(terret.CodeConnectionFailed, "%s does not list its models: %s; look at its address (%s), and whether the server runs and takes the key", name, e.secrets.String(err.Error()), all[i].addressName())
	}
	return list, nil
}

// offered is what a provider says that it has; nothing if it does not answer.
func (d *Driver) offered(ctx context.Context, p provider, known table) []terret.Model {
	e, err := d.endpoint(p, "")
	if err != nil {
		return nil
	}
	list, err := e.list(ctx)
	if err != nil {
		return nil
	}
	for i, m := range list {
		c, _ := known.find(m.ID)
		if m.Context == 0 {
			list[i].Context = c.Context
		}
		if list[i].Can == nil {
			list[i].Can = c.can()
		}
	}
	return list
}

func (e *endpoint) list(ctx context.Context) ([]terret.Model, error) {
	path, values, _ := strings.Cut(e.dialect.list, "?")
	at := e.base.JoinPath(path)
	at.RawQuery = values
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header = e.header.Clone()
	r.Header.Set("Accept", "application/json")
	res, err := e.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // nothing more is read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API answered %s", res.Status)
	}
	var body struct {
		Data []struct {
			ID      string `json:"id"`
			Name    string `json:"display_name"`   // Anthropic's
			Context int64  `json:"context_length"` // OpenRouter's and vLLM's

			Parameters   []string `json:"supported_parameters"` // OpenRouter's
			Architecture struct {
				Input []string `json:"input_modalities"`
			} `json:"architecture"`
		} `json:"data"`
		Models []struct { // Google's
			Name    string   `json:"name"`
			Context int64    `json:"inputTokenLimit"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxList)).Decode(&body); err != nil {
		return nil, err
	}
	var out []terret.Model
	for _, m := range body.Data {
		if m.ID != "" {
			one := terret.Model{ID: e.provider.name + "/" + m.ID, Name: cmp.Or(m.Name, m.ID), Context: m.Context}
			if m.Parameters != nil && m.Architecture.Input != nil {
				one.Can = map[string]bool{
					"tools": slices.Contains(m.Parameters, "tools"), "thinking": slices.Contains(m.Parameters, "reasoning"),
					"images": slices.Contains(m.Architecture.Input, "image"),
				}
			}
			out = append(out, one)
		}
	}
	for _, m := range body.Models {
		if name, ok := strings.CutPrefix(m.Name, "models/"); ok && slices.Contains(m.Methods, "generateContent") {
			out = append(out, terret.Model{ID: e.provider.name + "/" + name, Name: name, Context: m.Context})
		}
	}
	return out, nil
}
