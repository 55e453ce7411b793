package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/work/race"
)

func (s *Server) raceRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/races", id: "list-races", tag: tagWork, scope: access.View,
		summary: "List races, the newest first",
		long:    "A race is running, interrupted if nobody works on it, finished when all agents are done, and then kept or dropped.",
		fails:   stored(),
	}, s.listRaces)
	handle(s, route{
		method: "POST", path: "/v1/races", id: "start-race", tag: tagWork, scope: access.Decide, status: http.StatusAccepted,
		summary: "Give one task to several agents",
		long:    "Each works in a git worktree of its own, in the background. The folder must be in a git repository without uncommitted changes. Agents edit files without asking and the check is a command that runs here, which is why this needs a token that may decide.",
		fails:   stored(terret.CodeAgentNotFound),
	}, s.startRace)
	handle(s, route{
		method: "GET", path: "/v1/races/{id}", id: "get-race", tag: tagWork, scope: access.View,
		summary: "Show a race",
		long:    "The session of a racer shows what its agent does.",
		fails:   stored(terret.CodeNotFound),
	}, s.getRace)
	handle(s, route{
		method: "POST", path: "/v1/races/{id}/resume", id: "resume-race", tag: tagWork, scope: access.Decide, status: http.StatusAccepted,
		summary: "Continue a race that was interrupted",
		long:    "Agents that are done stay as they are; the others continue in their worktrees.",
		fails:   stored(terret.CodeNotFound, terret.CodeConflict),
	}, s.resumeRace)
	handle(s, route{
		method: "POST", path: "/v1/races/{id}/keep", id: "keep-racer", tag: tagWork, scope: access.Decide,
		summary: "Keep what one agent did, and drop the rest",
		long:    "Its changes are committed and merged, or applied as a patch that is not committed. If they do not fit, nothing is changed or dropped.",
		fails:   stored(terret.CodeNotFound),
	}, s.keepRacer)
	handle(s, route{
		method: "POST", path: "/v1/races/{id}/drop", id: "drop-race", tag: tagWork, scope: access.Decide,
		summary: "Drop what all agents did",
		long:    "Removes the worktrees and their branches. The sessions stay.",
		fails:   stored(terret.CodeNotFound),
	}, s.dropRace)
}

type newRace struct {
	Cwd            string   `json:"cwd" doc:"The folder to work on; it must be inside one of the roots."`
	Task           string   `json:"task" minLength:"1" maxLength:"1000000"`
	Agents         []string `json:"agents" minItems:"2" maxItems:"10" doc:"The same one may be there more than once."`
	Model          string   `json:"model,omitempty"`
	Check          string   `json:"check,omitempty" maxLength:"10000" doc:"A shell command that judges what an agent did."`
	PermissionMode string   `json:"permission_mode,omitempty" doc:"The agents' own. Default: they edit files without asking."`
	Tools          []string `json:"tools,omitempty" doc:"The agents' tools, which they use without asking. Default: all."`
}

// races runs races on what the server works with.
func (s *Server) races() *race.Runner {
	r := s.maker.Races(s.cfg.Env)
	r.Host.Store, r.List = s.store, s.store.ListSessions
	return r
}

func (s *Server) listRaces(ctx context.Context, _ *struct{}) (*body[terret.Page[race.Race]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return page(s.races().All(ctx))
}

// race returns a race in a folder that may be shown.
func (s *Server) race(ctx context.Context, id string) (*race.Runner, race.Race, error) {
	r := s.races()
	if err := checkID(id); err != nil {
		return r, race.Race{}, err
	}
	if err := everywhere(ctx); err != nil {
		return r, race.Race{}, err
	}
	x, err := r.Get(ctx, id)
	if err == nil {
		_, err = s.inRoots("cwd", x.Cwd)
	}
	return r, x, err
}

func (s *Server) getRace(ctx context.Context, in *struct {
	SessionPath
	Diff string `query:"diff" enum:"0,1" doc:"1 shows what each agent changed."`
},
) (*body[race.Race], error) {
	r, x, err := s.race(ctx, in.ID)
	if err == nil && in.Diff == "1" {
		err = r.Diffs(ctx, &x)
	}
	return reply(x, err)
}

func (s *Server) startRace(ctx context.Context, in *struct{ Body newRace }) (*body[race.Race], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	n := in.Body
	for field, list := range map[string][]string{"agents": n.Agents, "tools": n.Tools, "model": {n.Model}, "permission_mode": {n.PermissionMode}} {
		for _, v := range list {
			if err := checkName(field, v); err != nil {
				return nil, err
			}
		}
	}
	q := race.Request{
		Task: n.Task, Agents: n.Agents, Model: n.Model, Check: n.Check, PermissionMode: n.PermissionMode, Tools: n.Tools,
		Setup: s.cfg.Worktree.Setup, Copy: s.cfg.Worktree.Copy,
	}
	var err error
	if q.Cwd, err = s.inRoots("cwd", n.Cwd); err != nil {
		return nil, err
	}
	r := s.races()
	x, err := r.Start(ctx, caller(ctx), q)
	if err != nil {
		return nil, err
	}
	s.work(x.ID, job{Kind: jobRace, By: caller(ctx)})
	x.State = race.Running
	return reply(x, nil)
}

func (s *Server) resumeRace(ctx context.Context, in *SessionPath) (*body[race.Race], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	_, x, err := s.race(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if x.State != race.Interrupted {
		return nil, terret.Errorf(terret.CodeConflict, "race %s is %s", in.ID, x.State)
	}
	s.work(in.ID, job{Kind: jobRace, By: caller(ctx)})
	x.State = race.Running
	return reply(x, nil)
}

func (s *Server) keepRacer(ctx context.Context, in *struct {
	SessionPath
	Body struct {
		Racer string `json:"racer" minLength:"1" doc:"The racer's name."`
		How   string `json:"how,omitempty" enum:"merge,patch" doc:"Default merge."`
	}
},
) (*body[race.Race], error) {
	r, x, err := s.race(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return reply(r.Keep(ctx, caller(ctx), x.ID, in.Body.Racer, in.Body.How == "patch"))
}

func (s *Server) dropRace(ctx context.Context, in *SessionPath) (*body[race.Race], error) {
	r, x, err := s.race(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return reply(r.Drop(ctx, caller(ctx), x.ID))
}
