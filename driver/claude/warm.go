package claude

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// WarmKey implements terret.Prewarmer.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	s := r.Session
	if s.OneShot || s.NativeID != "" || r.Settings.MaxCostUSD > 0 || checkSession(s) != nil || checkSettings(r.Settings, s) != nil {
		return ""
	}
	key := d.launchOf(r, d.sessionEnv(r), r.Settings).key() + " " + s.Model + " " + s.PermissionMode
	if r.Settings.KeepRaw {
		key += " raw"
	}
	return key
}

// Prewarm implements terret.Prewarmer. Nobody reads the process: without a prompt the
// agent says hardly anything.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	key := d.WarmKey(r)
	if key == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "Claude Code cannot be prewarmed with these options")
	}
	s := r.Session
	args, o := native{}.args()
	o.keepRaw = r.Settings.KeepRaw
	p, err := d.start(ctx, d.launchOf(r, d.sessionEnv(r), r.Settings), append(args, modelArgs(s.Model, s.PermissionMode, 0)...), o, r.Owner, r.Log)
	if err != nil {
		return nil, err
	}
	p.prime()
	return &seat.Warm[*process]{Prepared: p, Key: key}, nil
}

// primedSince is the first version that can be primed. Earlier ones would call the
// model's API.
const primedSince = "2.1.325"

// prime makes the process load what its first turn needs, by asking what fills its
// context: it composes the prompt and the tools without calling anybody. That takes a
// fifth off the first turn. Whoever reads the process next drops the answer.
func (p *process) prime() {
	if seat.Compare(p.about.Version, primedSince) >= 0 {
		p.send(requestLine(terret.NewID(terret.PrefixControl), map[string]string{"subtype": "get_context_usage", "detail": "summary"}))
	}
}
