package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/push"
)

func (s *Server) pushRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/push", id: "get-push", tag: tagAccess, scope: access.View,
		summary: "Show the key for push notifications, and the caller's subscriptions",
		long:    "A browser that subscribes with the key and then calls PUT /v1/push is told what waits, also while no page is open.",
		fails:   stored(terret.CodeUnsupported),
	}, s.getPush)
	handle(s, route{
		method: "PUT", path: "/v1/push", id: "subscribe-push", tag: tagAccess, scope: access.View,
		summary: "Send push notifications to a browser",
		long: "The body is what the browser says of its PushSubscription. It belongs to the token of the call: it is told what the token may see, and forgotten when the token ends. " +
			"A token has ten at most; the oldest makes room.",
		fails: stored(terret.CodeUnsupported),
	}, s.putPush)
	handle(s, route{
		method: "DELETE", path: "/v1/push", id: "unsubscribe-push", tag: tagAccess, scope: access.View, status: http.StatusNoContent,
		summary: "Send a browser no more push notifications",
		long:    "Only the token that it belongs to can end a subscription, or whoever revokes the token.",
		fails:   stored(terret.CodeNotFound, terret.CodeUnsupported),
	}, s.deletePush)
	handle(s, route{
		method: "POST", path: "/v1/push/test", id: "test-push", tag: tagAccess, scope: access.View, status: http.StatusNoContent,
		summary: "Send a push notification as a test",
		long:    "Succeeds when the browser's push service has accepted it.",
		fails:   stored(terret.CodeNotFound, terret.CodeUnsupported, terret.CodeConnectionFailed),
	}, s.testPush)
}

// PushState is what a browser needs to know to subscribe.
type PushState struct {
	PublicKey     string             `json:"public_key" doc:"The server's key, in base64url; the browser's applicationServerKey."`
	Subscriptions []PushSubscription `json:"subscriptions" doc:"Those of the caller's token, the oldest first."`
}

// PushSubscription is a browser that gets notifications.
type PushSubscription struct {
	ID        string      `json:"id" doc:"The SHA-256 of its endpoint, in hexadecimal."`
	Service   string      `json:"service" doc:"The host that notifications are sent to."`
	CreatedAt terret.Time `json:"created_at"`
}

// noPush is the error of a server that can keep no subscriptions.
func (s *Server) noPush() error {
	if s.push == nil {
		return terret.Errorf(terret.CodeUnsupported, "this server has no data folder, so it cannot send push notifications")
	}
	return nil
}

func (s *Server) getPush(ctx context.Context, _ *struct{}) (*body[PushState], error) {
	if err := s.noPush(); err != nil {
		return nil, err
	}
	key, own, err := s.push.Book.Own(ctx, access.From(ctx).Mark())
	state := PushState{PublicKey: key, Subscriptions: []PushSubscription{}}
	for _, o := range own {
		state.Subscriptions = append(state.Subscriptions, PushSubscription{ID: o.ID(), Service: o.Service(), CreatedAt: o.CreatedAt})
	}
	return reply(state, err)
}

type newPush struct {
	Endpoint string `json:"endpoint" maxLength:"2048"`
	Keys     struct {
		P256DH string `json:"p256dh" maxLength:"128"`
		Auth   string `json:"auth" maxLength:"64"`
	} `json:"keys"`
}

func (s *Server) putPush(ctx context.Context, in *struct{ Body newPush }) (*body[PushState], error) {
	if err := s.noPush(); err != nil {
		return nil, err
	}
	who := access.From(ctx)
	wanted := push.Subscription{
		Endpoint: in.Body.Endpoint, P256DH: in.Body.Keys.P256DH, Auth: in.Body.Keys.Auth,
		Owner: who.Mark(), Name: who.Name, CreatedAt: terret.Now(),
	}
	if who.IsAdmin() {
		wanted.Node, wanted.SeenAt = s.cfg.Node, wanted.CreatedAt
	}
	if err := s.push.Put(ctx, wanted); err != nil {
		return nil, err
	}
	s.watchPush() // before the answer, so that nothing after it is missed
	return s.getPush(ctx, nil)
}

// ownPush returns a subscription of the caller.
func (s *Server) ownPush(ctx context.Context, id string) (push.Subscription, error) {
	if err := s.noPush(); err != nil {
		return push.Subscription{}, err
	}
	_, own, err := s.push.Book.Own(ctx, access.From(ctx).Mark())
	if err != nil {
		return push.Subscription{}, err
	}
	at := slices.IndexFunc(own, func(o push.Subscription) bool { return o.ID() == id })
	if at < 0 {
		return push.Subscription{}, terret.Errorf(terret.CodeNotFound, "this token has no such subscription; GET /v1/push lists them")
	}
	return own[at], nil
}

func (s *Server) deletePush(ctx context.Context, in *struct {
	ID string `query:"id" required:"true" maxLength:"64" doc:"The subscription's id."`
},
) (*nothing, error) {
	own, err := s.ownPush(ctx, in.ID)
	if err == nil {
		_, err = s.push.Book.Remove(ctx, func(o push.Subscription) bool { return o.Endpoint == own.Endpoint && o.Owner == own.Owner })
	}
	return nil, err
}

func (s *Server) testPush(ctx context.Context, in *struct {
	Body struct {
		ID string `json:"id" maxLength:"64" doc:"The subscription's id."`
	}
},
) (*nothing, error) {
	own, err := s.ownPush(ctx, in.Body.ID)
	if err != nil {
		return nil, err
	}
	err = s.push.Test(ctx, own, push.Note{Title: "Terret", Body: "Notifications reach this device.", Tag: "test", Path: "/settings"})
	switch {
	case errors.Is(err, push.ErrBusy):
		return nil, tooMany("%w", err)
	case err != nil:
		return nil, terret.Errorf(terret.CodeConnectionFailed, "the notification was not sent: %w", err)
	}
	return nil, nil
}
