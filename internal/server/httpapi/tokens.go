package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"rsc.io/qr"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) tokenRoutes() {
	handle(s, route{
		method: "POST", path: signInPath, id: "sign-in", tag: tagAccess, status: http.StatusCreated,
		summary: "Exchange a one-time code for a token",
		long:    "The code is in the fragment of the URL that `terret serve` prints. This needs no token.",
		fails:   stored(),
	}, s.signIn)
	handle(s, route{
		method: "POST", path: "/v1/signin/links", id: "make-sign-in-link", tag: tagAccess, scope: access.Admin, status: http.StatusCreated,
		summary: "Make a link that signs in one device",
		long:    "It works once, within ten minutes, on this server, until it stops. The code is in the link's fragment, which browsers do not send.",
	}, s.makeLink)
	handle(s, route{
		method: "GET", path: "/v1/me", id: "who-am-i", tag: tagAccess, scope: access.View,
		summary: "Show whose token this is",
		long:    "Its name, its scope and, if it is valid for one session only, that session.",
	}, s.me)
	handle(s, route{
		method: "GET", path: "/v1/tokens", id: "list-tokens", tag: tagAccess, scope: access.Admin,
		summary: "List tokens, without their secrets",
		long:    "The admin token is not listed.",
		fails:   []terret.ErrorCode{terret.CodeStartupRefused},
	}, s.listTokens)
	handle(s, route{
		method: "POST", path: "/v1/tokens", id: "make-token", tag: tagAccess, scope: access.Admin, status: http.StatusCreated,
		summary: "Create a token",
		long:    "The secret is shown only in this response.",
		fails:   inSession(terret.CodeConflict),
	}, s.makeToken)
	handle(s, route{
		method: "DELETE", path: "/v1/tokens", id: "revoke-token-by-query", tag: tagAccess, scope: access.Admin, status: http.StatusNoContent,
		summary: "Revoke a token named in the query",
		long:    "For names that do not fit into a path.",
		fails:   stored(terret.CodeNotFound),
	}, s.revokeNamed)
	handle(s, route{
		method: "DELETE", path: "/v1/tokens/{name}", id: "revoke-token", tag: tagAccess, scope: access.Admin, status: http.StatusNoContent,
		summary: "Revoke a token",
		long:    "Streams that it opened end within 15 seconds.",
		fails:   stored(terret.CodeNotFound),
	}, s.revokeToken)
}

// MadeToken is a new token, with its secret.
type MadeToken struct {
	access.Token
	Secret string `json:"token" doc:"Send it as Authorization: Bearer."`
}

type newSignIn struct {
	Code   string `json:"code" maxLength:"512"`
	Device string `json:"device,omitempty" maxLength:"64" doc:"Its name in the log. Default: browser."`
}

func (s *Server) signIn(ctx context.Context, in *struct{ Body newSignIn }) (*body[MadeToken], error) {
	secret, t, err := s.gate.SignIn(ctx, in.Body.Code, nonEmpty(in.Body.Device, "browser"))
	return reply(MadeToken{t, secret}, err)
}

type newLink struct {
	Origin string       `json:"origin" maxLength:"512" doc:"The address at which the device reaches this server, such as https://terret.example."`
	Scope  access.Scope `json:"scope,omitempty" enum:"view,prompt,decide,admin" doc:"What the device may do. Default: admin."`
}

// SignInLink signs in one device.
type SignInLink struct {
	URL       string      `json:"url"`
	ExpiresAt terret.Time `json:"expires_at"`
	QR        []string    `json:"qr" doc:"The link as a QR code: rows of 0 and 1, where 1 is dark, without the quiet zone."`
}

func (s *Server) makeLink(ctx context.Context, in *struct{ Body newLink }) (*body[SignInLink], error) {
	at, err := url.Parse(in.Body.Origin)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.Path+at.RawQuery+at.Fragment != "" {
		return nil, terret.Invalid("origin", "%.200q is not an origin; write it like https://terret.example", in.Body.Origin)
	}
	code, expires, err := s.cfg.Tokens.NewCodeFor(ctx, access.Scope(nonEmpty(string(in.Body.Scope), string(access.Admin))))
	if err != nil {
		return nil, err
	}
	link := SignInLink{URL: in.Body.Origin + "/#code=" + code, ExpiresAt: terret.TimeOf(expires)}
	drawn, err := qr.Encode(link.URL, qr.M)
	if err != nil {
		return nil, terret.Invalid("origin", "it is too long for a QR code")
	}
	for y := range drawn.Size {
		row := make([]byte, drawn.Size)
		for x := range row {
			row[x] = '0'
			if drawn.Black(x, y) {
				row[x] = '1'
			}
		}
		link.QR = append(link.QR, string(row))
	}
	return reply(link, nil)
}

func (s *Server) me(ctx context.Context, _ *struct{}) (*body[access.Identity], error) {
	return reply(access.From(ctx), nil)
}

func (s *Server) listTokens(context.Context, *struct{}) (*body[terret.Page[access.Token]], error) {
	return page(s.cfg.Tokens.List())
}

type newToken struct {
	Name    string       `json:"name" maxLength:"64"`
	Scope   access.Scope `json:"scope" enum:"view,prompt,decide,admin"`
	Session string       `json:"session,omitempty" doc:"The only session it is valid for."`
	Seconds int64        `json:"seconds,omitempty" minimum:"0" maximum:"315360000" doc:"How long it is valid. Default: until revoked."`
}

func (s *Server) makeToken(ctx context.Context, in *struct{ Body newToken }) (*body[MadeToken], error) {
	b := in.Body
	if b.Session != "" {
		if _, err := s.session(ctx, b.Session); err != nil {
			return nil, err
		}
	}
	secret, t, err := s.cfg.Tokens.Create(ctx, access.Spec{Name: b.Name, Scope: b.Scope, Session: b.Session, Life: time.Duration(b.Seconds) * time.Second})
	return reply(MadeToken{t, secret}, err)
}

func (s *Server) revokeToken(ctx context.Context, in *struct {
	Name string `path:"name"`
},
) (*nothing, error) {
	return nil, s.cfg.Tokens.Revoke(ctx, in.Name)
}

func (s *Server) revokeNamed(ctx context.Context, in *struct {
	Name string `query:"name" required:"true"`
},
) (*nothing, error) {
	return nil, s.cfg.Tokens.Revoke(ctx, in.Name)
}
