package acp

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/trust"
)

// checkTrust refuses to start the agent where it would follow settings that nobody
// trusts, such as hooks, which run before anybody is asked.
func (a *agent) checkTrust() error {
	if a.Req.Trusted {
		return nil
	}
	var places []trust.Place
	for _, f := range a.d.p.Files {
		places = append(places, trust.Place(f))
	}
	state, err := trust.Inspect(a.Req.Session.Cwd, places...)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(state.Files, func(f trust.File) bool { return a.d.p.follows(f.Path) })
	if i < 0 {
		return nil
	}
	return terret.Errorf(terret.CodeStartupRefused,
		"%s may follow %s (%s), which you have not trusted, and cannot be told to ignore it; look at it and run `terret trust` in %s, or choose another agent",
		a.d.p.title(), state.Files[i].Path, state.Files[i].Why, state.Folder)
}

// follows reports whether the agent may follow that file of a folder that nobody
// trusts. Of a program that was never tried nobody knows, so it may follow them all.
func (p Profile) follows(file string) bool {
	if p.Tested == "" {
		return true
	}
	for strings.HasPrefix(file, "../") {
		file = file[len("../"):]
	}
	return slices.ContainsFunc(p.Follows, func(place string) bool {
		return file == place || strings.HasSuffix(place, "/") && strings.HasPrefix(file, place)
	})
}
