package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/notify"
)

// answerPath takes the answers that messages can give.
const answerPath = "/v1/notify/answer"

func (s *Server) notifyRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/notify", id: "get-notify", tag: tagAccess, scope: access.Admin,
		summary: "Show the channels of notification, and what was not delivered",
		long:    "Channels are told without a browser: ntfy, and webhooks. In a fleet, what waits is this node's.",
		fails:   []terret.ErrorCode{terret.CodeStartupRefused, terret.CodeUnsupported},
	}, s.getNotify)
	handle(s, route{
		method: "PUT", path: "/v1/notify", id: "put-notify", tag: tagAccess, scope: access.Admin,
		summary: "Replace the channels of notification",
		long: "Those that are left out are told nothing more. They are reached by https on the public internet, unless they are marked as private. " +
			"A webhook gets JSON by POST, with the headers Terret-Delivery, Terret-Timestamp and Terret-Signature: sha256= and the HMAC-SHA-256, in hexadecimal, of the timestamp, a dot and the body. " +
			"What fails is tried again for a day, also after a restart.",
		fails: stored(terret.CodeUnsupported),
	}, s.putNotify)
	handle(s, route{
		method: "POST", path: "/v1/notify/test", id: "test-notify", tag: tagAccess, scope: access.Admin, status: http.StatusNoContent,
		summary: "Send a message to a channel as a test",
		long:    "Succeeds when the channel has accepted it. It is tried once.",
		fails:   []terret.ErrorCode{terret.CodeStartupRefused, terret.CodeUnsupported, terret.CodeNotFound, terret.CodeConnectionFailed},
	}, s.testNotify)
	handle(s, route{
		method: "POST", path: answerPath, id: "answer-notification", tag: tagAccess, status: http.StatusNoContent,
		summary: "Answer a request from a message",
		long:    "The token is in the message. It is good for one answer to one request, for a day at most and until the request is decided. This needs no other token.",
		fails:   stored(terret.CodeNotFound, terret.CodeAlreadyDecided),
	}, s.answerNotification)
}

// NotifySettings says how people are told without a browser.
type NotifySettings struct {
	BaseURL  string           `json:"base_url,omitempty" maxLength:"500" doc:"Where people reach this server, such as https://terret.example: for links and answers. Default: the server's first --origin."`
	Channels []notify.Channel `json:"channels" nullable:"false" maxItems:"20"`
}

// Notify is what is set, and what became of it.
type Notify struct {
	NotifySettings
	Waiting []notify.Delivery `json:"waiting" nullable:"false" doc:"What is still to be sent, the oldest first."`
	Lost    []notify.Delivery `json:"lost" nullable:"false" doc:"What was given up, the newest last."`
	Dropped int               `json:"dropped" doc:"How much was dropped because too much waited."`
}

func (s *Server) noNotify() error {
	if s.notify == nil {
		return terret.Errorf(terret.CodeUnsupported, "this server has no data folder, so it cannot keep channels of notification")
	}
	return nil
}

func (s *Server) getNotify(ctx context.Context, _ *struct{}) (*body[Notify], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.noNotify(); err != nil {
		return nil, err
	}
	p, q, err := s.notify.Book.Show(ctx)
	return reply(Notify{
		NotifySettings: NotifySettings{p.Base, append([]notify.Channel{}, p.Channels...)}, Dropped: q.Dropped,
		Waiting: append([]notify.Delivery{}, q.Waiting...), Lost: append([]notify.Delivery{}, q.Lost...),
	}, err)
}

func (s *Server) putNotify(ctx context.Context, in *struct{ Body NotifySettings }) (*body[Notify], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.noNotify(); err != nil {
		return nil, err
	}
	pos, err := s.store.LastPos(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.notify.Book.Put(ctx, in.Body.BaseURL, in.Body.Channels, pos); err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "the channels of notification were changed", "by", caller(ctx), "channels", len(in.Body.Channels))
	s.watchPush() // before the answer, so that nothing after it is missed
	return s.getNotify(ctx, nil)
}

func (s *Server) testNotify(ctx context.Context, in *struct {
	Body struct {
		ID string `json:"id" maxLength:"64" doc:"The channel's id."`
	}
},
) (*nothing, error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.noNotify(); err != nil {
		return nil, err
	}
	p, err := s.notify.Book.Read(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.notify.Test(ctx, in.Body.ID, notify.TestMessage(s.peopleAt(p)))
}

func (s *Server) answerNotification(ctx context.Context, in *struct {
	Body struct {
		Token string `json:"token" maxLength:"1024" doc:"As it was in the message."`
	}
},
) (*nothing, error) {
	if access.FromInside(ctx) {
		return nil, access.ErrInside("messages are answered by people")
	}
	if s.notify == nil {
		return nil, s.gate.Refused(ctx, terret.Errorf(terret.CodeUnauthorized, "this server sends no messages that can be answered"))
	}
	g, err := s.notify.Book.Redeem(ctx, in.Body.Token)
	if err != nil {
		return nil, s.gate.Refused(ctx, err)
	}
	return nil, s.engine.Decide(ctx, terret.Decision{
		RequestID: g.Request, Behavior: g.Behavior, Source: terret.ByUser, By: "notify:" + g.Channel, InputHash: g.InputHash,
	})
}
