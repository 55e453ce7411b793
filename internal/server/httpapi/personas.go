package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) personaRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/personas", id: "list-personas", tag: tagPersonas, scope: access.View,
		summary: "List the personas of a folder",
		long:    "`broken` names the files that cannot be read, and why.",
	}, s.listPersonas)
	handle(s, route{
		method: "GET", path: "/v1/personas/{id}/prompt", id: "persona-prompt", tag: tagPersonas, scope: access.View,
		summary: "Show the system prompt of a persona",
		long:    "As the next turn would get it; the files are read now.",
		fails:   []terret.ErrorCode{terret.CodeNotFound},
	}, s.personaPrompt)
}

// Personas are those of a folder. Broken lists invalid files, and why.
type Personas struct {
	Items  []terret.Persona `json:"items"`
	Broken []string         `json:"broken,omitempty"`
}

func (s *Server) listPersonas(ctx context.Context, in *struct {
	Cwd string `query:"cwd" required:"true" doc:"The project's folder."`
},
) (*body[Personas], error) {
	dir, err := s.folderOf(ctx, in.Cwd)
	if err != nil {
		return nil, err
	}
	found, err := s.roles.List(dir)
	if err != nil {
		return nil, err
	}
	out := Personas{Items: found.Personas}
	for _, b := range found.Broken {
		out.Broken = append(out.Broken, b.Error())
	}
	return reply(out, nil)
}

// folderOf checks that the caller may ask about the folder.
func (s *Server) folderOf(ctx context.Context, dir string) (string, error) {
	if err := everywhere(ctx); err != nil {
		return "", err
	}
	return s.inRoots("cwd", dir)
}

// SystemPrompt is the system prompt of a persona.
type SystemPrompt struct {
	Text   string   `json:"text"`
	Tokens int      `json:"tokens" doc:"An estimate."`
	Notes  []string `json:"notes,omitempty" doc:"What was omitted or cut, and why."`
}

func (s *Server) personaPrompt(ctx context.Context, in *struct {
	ID   string      `path:"id"`
	Cwd  string      `query:"cwd" required:"true"`
	Mode terret.Mode `query:"mode" enum:"workbench,pipeline,direct"`
},
) (*body[SystemPrompt], error) {
	dir, err := s.folderOf(ctx, in.Cwd)
	if err != nil {
		return nil, err
	}
	p, err := s.roles.Persona(dir, in.ID)
	if err != nil {
		return nil, err
	}
	made, err := s.roles.Prompt(dir, &p, in.Mode)
	return reply(SystemPrompt(made), err)
}
