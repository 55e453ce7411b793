package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Grant is one answer to one request, which whoever has its token may give. That a request is
// decided only once makes the token good for once.
type Grant struct {
	Channel   string          `json:"c"`
	Request   string          `json:"r"`
	Behavior  terret.Behavior `json:"b"`
	InputHash string          `json:"h"` // of what the message showed
	Expires   int64           `json:"e"` // seconds since 1970
}

// GrantLife is how long a token is good at most.
const GrantLife = 24 * time.Hour

const maxToken = 1024 // bytes

var encoding = base64.RawURLEncoding

// Token returns the token for a grant.
func (p Page) Token(g Grant) string {
	text, err := json.Marshal(g)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	body := encoding.EncodeToString(text)
	return body + "." + encoding.EncodeToString(p.sign(body))
}

func (p Page) sign(body string) []byte {
	mac := hmac.New(sha256.New, p.Key)
	mac.Write([]byte("answer." + body))
	return mac.Sum(nil)
}

// Redeem returns what a token grants. The error is unauthorized if it is not one of ours, has
// expired, or is of a channel that may no longer answer.
func (b *Book) Redeem(ctx context.Context, token string) (Grant, error) {
	wrong := terret.Errorf(terret.CodeUnauthorized, "this answer is not valid, or no longer; open the session to decide")
	body, mac, _ := strings.Cut(token[:min(len(token), maxToken)], ".")
	p, err := b.Read(ctx)
	if err != nil {
		return Grant{}, err
	}
	sum, err := encoding.DecodeString(mac)
	if err != nil || len(p.Key) == 0 || !hmac.Equal(sum, p.sign(body)) {
		return Grant{}, wrong
	}
	var g Grant
	text, err := encoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &g) != nil || time.Now().Unix() >= g.Expires {
		return Grant{}, wrong
	}
	if c, ok := p.Channel(g.Channel); !ok || !c.Answers {
		return Grant{}, wrong
	}
	return g, nil
}
