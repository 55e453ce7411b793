package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/setup"
	"github.com/terret-dev/terret/internal/sse"
)

func (s *Server) installRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/installers", id: "list-installers", tag: tagSetup, scope: access.Admin,
		summary: "List the commands that install agents",
		long:    "They are Terret's own. Those of a package manager can be run from here, if it is there.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.listInstallers)
	handle(s, route{
		method: "POST", path: "/v1/installers/{agent}", id: "install-agent", tag: tagSetup, scope: access.Admin, status: http.StatusAccepted,
		summary: "Install an agent, by the command that the list shows",
		long:    "As the user who runs the server, on the server's machine; packages may run programs of their own while they are installed. One at a time, for at most 15 minutes. Follow its output.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeNotFound, terret.CodeConflict, terret.CodeStartupRefused},
	}, s.installAgent)
	handle(s, route{
		method: "GET", path: "/v1/installation", id: "get-installation", tag: tagSetup, scope: access.Admin,
		summary: "Show the installation that runs, or the last one",
		long:    "When it has ended, with what is known of the agent then.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeNotFound},
	}, s.getInstallation)
	handle(s, route{
		method: "DELETE", path: "/v1/installation", id: "cancel-installation", tag: tagSetup, scope: access.Admin,
		summary: "Cancel the installation that runs",
		long:    "Returns when everything that it started has ended. What it has written so far stays.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConflict},
	}, s.cancelInstallation)
	handleStream(s, route{
		method: "GET", path: "/v1/installation/output", id: "installation-output", tag: tagSetup, scope: access.Admin,
		summary: "Follow what an installation prints",
		long:    "As text/event-stream: `installation`, its state, at the start and when it changes; `output`, a text, whose `id` is how many bytes there were with it; and `missed` if what comes next does not follow what came before, because it is no longer kept. The stream ends with the installation.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeNotFound},
	}, s.installationOutput, sse.ContentType)
}

func (s *Server) listInstallers(context.Context, *struct{}) (*body[terret.Page[setup.Installer]], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return page(m.Installers(), nil)
}

func (s *Server) installAgent(ctx context.Context, in *struct {
	Agent string `path:"agent" maxLength:"64" doc:"The agent's name."`
},
) (*body[setup.Installation], error) {
	m, err := s.setup()
	if err == nil {
		err = s.stopping()
	}
	if err != nil {
		return nil, err
	}
	i, err := m.Install(ctx, in.Agent, caller(ctx))
	if err == nil {
		s.log.InfoContext(ctx, "an agent is being installed", "agent", i.Agent, "command", i.Command, "by", i.By)
	}
	return reply(i, err)
}

func (s *Server) getInstallation(context.Context, *struct{}) (*body[setup.Installation], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return reply(m.Installation())
}

func (s *Server) cancelInstallation(ctx context.Context, _ *struct{}) (*body[setup.Installation], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return reply(m.CancelInstall(ctx))
}

func (s *Server) installationOutput(ctx context.Context, in *struct {
	After int64 `query:"after" minimum:"0" doc:"Only what comes after so many bytes."`
},
) (*streamAnswer, error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	next, err := m.Follow(in.After)
	if err != nil {
		return nil, err
	}
	id := access.From(ctx)
	return s.inSlot(func(w http.ResponseWriter, r *http.Request) {
		valid := s.stillAllowed(r.Context(), id, appendEnd)
		s.streaming(w, r, sse.ContentType, valid, func(ctx context.Context, st *stream) error {
			for {
				if err := st.wait(nil); err != nil {
					return err
				}
				out, err := next(ctx)
				if err != nil {
					return err
				}
				if err := st.append(func(b []byte) []byte { return appendInstallation(b, out) }); err != nil || out.Ended {
					return err
				}
			}
		})
	}), nil
}

func appendInstallation(b []byte, out setup.Output) []byte {
	next := strconv.FormatInt(out.Next, 10)
	if out.Missed {
		b = sse.Append(b, next, "missed", []byte("{}"))
	}
	if text, err := json.Marshal(map[string]string{"text": out.Text}); err == nil && out.Text != "" {
		b = sse.Append(b, next, "output", text)
	}
	if state, err := json.Marshal(out.Installation); err == nil && out.Changed {
		b = sse.Append(b, next, "installation", state)
	}
	return b
}
