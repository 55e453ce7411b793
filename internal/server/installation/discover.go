package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/archive"
)

// Discover lists the sessions that people had with agents without Terret, the last used
// first: those of one agent, or of all. The error says which agents' could not be read;
// the others are listed all the same.
func (m *Sessions) Discover(ctx context.Context, agent string) ([]terret.Discovered, error) {
	var out []terret.Discovered
	var failed error
	for _, d := range m.Agents.Drivers() {
		from, ok := d.(terret.Discoverer)
		if !ok || agent != "" && d.Name() != agent {
			continue
		}
		found, err := from.Discover(ctx)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("the sessions of %s: %w", d.Name(), err))
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b terret.Discovered) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt.Time), cmp.Compare(a.NativeID, b.NativeID))
	})
	if err := m.known(ctx, out); err != nil {
		return nil, err
	}
	return out, failed
}

// known says which of them Terret has already: because it ran them, or from an import.
func (m *Sessions) known(ctx context.Context, found []terret.Discovered) error {
	if len(found) == 0 {
		return nil
	}
	ours := map[[2]string]string{}
	for f := (terret.SessionFilter{Sort: "created", Limit: 200}); ; {
		page, err := m.Store.ListSessions(ctx, f)
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			ours[[2]string{one.Agent, string(one.NativeID)}] = one.ID
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
	}
	for i, d := range found {
		found[i].Session = ours[[2]string{d.Agent, d.NativeID}]
	}
	return nil
}

// Adopt makes a session of one that was discovered, with all that was said in it. It
// continues with the agent's own memory, in its folder or another one that is given.
func (m *Sessions) Adopt(ctx context.Context, agent, nativeID, cwd string) (terret.Session, error) {
	all, err := m.Discover(ctx, agent)
	i := slices.IndexFunc(all, func(d terret.Discovered) bool { return d.Agent == agent && d.NativeID == nativeID })
	if i < 0 {
		if err != nil {
			return terret.Session{}, err
		}
		return terret.Session{}, terret.Errorf(terret.CodeNotFound, "%s has no session %s here; `terret sessions discover` lists them", agent, nativeID)
	}
	d := all[i]
	if d.Session != "" {
		return terret.Session{}, terret.Errorf(terret.CodeConflict, "Terret has it already, as session %s", d.Session)
	}
	dir := cmp.Or(cwd, d.Cwd)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return terret.Session{}, terret.Invalid("cwd", "its folder %s is gone; name another one", dir)
	}
	for _, driver := range m.Agents.Drivers() {
		if from, ok := driver.(terret.Discoverer); ok && driver.Name() == agent {
			return archive.Recall(ctx, m.Store, terret.Session{
				ID: terret.DerivedID("", agent, nativeID), Agent: agent, NativeID: terret.NullString(nativeID), Title: d.Title, Cwd: dir,
				Mode: terret.ModeDirect, Policy: terret.PolicyAsk,
			}, from.Recall(ctx, nativeID))
		}
	}
	return terret.Session{}, terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q", agent)
}
