package notify

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/reach"
)

// Kind is what a channel speaks.
type Kind string

// The kinds.
const (
	Ntfy    Kind = "ntfy"
	Webhook Kind = "webhook"
)

// Event is what a person may want to know.
type Event string

// The events.
const (
	Needs  Event = "needs"  // a request waits for a person
	Done   Event = "done"   // a turn has ended well
	Failed Event = "failed" // a turn has failed
	Budget Event = "budget" // a turn has ended because the money is spent
	Test   Event = "test"   // somebody tries the channel
)

// Channel is somewhere that messages go.
type Channel struct {
	ID       string  `json:"id" required:"false" maxLength:"64" doc:"The server gives one to a new channel that has none."`
	Kind     Kind    `json:"kind" enum:"ntfy,webhook"`
	URL      string  `json:"url" maxLength:"2000" doc:"Of the topic (https://ntfy.sh/my-topic), or what is posted to."`
	Events   []Event `json:"events,omitempty" maxItems:"4" enum:"needs,done,failed,budget" doc:"What is told: a request waits for a person; a turn has ended well; it has failed; the money is spent. Default: all of them."`
	Quiet    *Quiet  `json:"quiet,omitempty" doc:"When nothing is sent. What is then still true is sent afterwards."`
	Secret   string  `json:"secret,omitempty" maxLength:"2000" doc:"What signs a webhook's messages, which must have one, or an access token of ntfy. It is never shown: (kept) stands for it, also in a change."`
	Disabled bool    `json:"disabled,omitempty" doc:"Nothing is sent."`
	Private  bool    `json:"private,omitempty" doc:"It is inside: an address of this machine or of a private network is meant, and may be http."`
	Answers  bool    `json:"answers,omitempty" doc:"ntfy: whoever reads the topic may allow or deny what a message asks. Such messages say what the tool is given."`
}

// Quiet is a part of each day.
type Quiet struct {
	From string `json:"from" maxLength:"5" doc:"A time of day such as 22:00."`
	To   string `json:"to" maxLength:"5" doc:"When it ends."`
	Zone string `json:"zone,omitempty" maxLength:"64" doc:"A time zone such as Europe/Berlin. Default: the server's."`
}

// Kept stands for a secret that is kept and not shown.
const Kept = "(kept)"

const maxChannels = 20

var (
	validID    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	validTopic = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
)

// Shown is the channel without its secret.
func (c Channel) Shown() Channel {
	if c.Secret != "" {
		c.Secret = Kept
	}
	return c
}

// wants reports whether a channel is told of an event.
func (c Channel) wants(e Event) bool { return len(c.Events) == 0 || slices.Contains(c.Events, e) }

// check rejects what could not be used, gives ids, and puts what was kept in place of Kept.
func (p *Page) check(was Page) error {
	if err := checkBase(p.Base); err != nil {
		return err
	}
	if len(p.Channels) > maxChannels {
		return terret.Invalid("channels", "there are %d, and may be %d", len(p.Channels), maxChannels)
	}
	ids := map[string]bool{}
	for i := range p.Channels {
		c := &p.Channels[i]
		c.ID = cmp.Or(c.ID, terret.NewID(""))
		if !validID.MatchString(c.ID) || ids[c.ID] {
			return terret.Invalid("channels", "%.64q is not an id, or there are two; use letters, digits, - and _", c.ID)
		}
		ids[c.ID] = true
		if c.Secret == Kept {
			c.Secret = ""
			// What was kept for one address is not told to another.
			if j := slices.IndexFunc(was.Channels, func(o Channel) bool { return o.ID == c.ID && o.URL == c.URL && o.Kind == c.Kind }); j >= 0 {
				c.Secret = was.Channels[j].Secret
			}
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

func checkBase(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path+u.RawQuery+u.Fragment != "" {
		return terret.Invalid("base_url", "%.200q is not an origin; write it like https://terret.example", base)
	}
	return nil
}

func (c Channel) check() error {
	bad := func(format string, args ...any) error {
		return terret.Invalid("channels", "channel "+c.ID+": "+format, args...)
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return bad("its url must be a web address without a password")
	case !c.Private && (u.Scheme != "https" || !reach.MayBePublic(u.Hostname())):
		return bad("its url must be https and on the public internet; mark the channel as private if an address inside is meant")
	case strings.ContainsFunc(c.Secret, unicode.IsControl):
		return bad("its secret has a control character")
	}
	switch c.Kind {
	case Ntfy:
		if _, topic := c.topic(); !validTopic.MatchString(topic) || u.RawQuery != "" {
			return bad("its url must end with a topic, like https://ntfy.sh/my-topic")
		}
	case Webhook:
		if c.Secret == "" {
			return bad("a webhook needs a secret, which signs its messages; a secret is not kept for another address")
		}
		if c.Answers {
			return bad("only ntfy can answer")
		}
	default:
		return bad("there is no kind %.20q; use ntfy or webhook", c.Kind)
	}
	for _, e := range c.Events {
		if !slices.Contains([]Event{Needs, Done, Failed, Budget}, e) {
			return bad("there is no event %.20q; use needs, done, failed or budget", e)
		}
	}
	if c.Quiet != nil {
		if _, _, _, err := c.Quiet.parse(); err != nil {
			return bad("its quiet hours cannot be read: %w", err)
		}
	}
	return nil
}

// topic returns where an ntfy server takes messages, and the topic.
func (c Channel) topic() (server, topic string) {
	at := strings.TrimRight(c.URL, "/")
	i := strings.LastIndexByte(at, '/') + 1
	return at[:i], at[i:]
}

// host names a channel where its address may not be told.
func (c Channel) host() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// parse returns the times of day in minutes.
func (q Quiet) parse() (from, to int, zone *time.Location, err error) {
	zone = time.Local
	if q.Zone != "" {
		if zone, err = time.LoadLocation(q.Zone); err != nil {
			return 0, 0, nil, err
		}
	}
	a, err := time.Parse("15:04", q.From)
	if err != nil {
		return 0, 0, nil, err
	}
	b, err := time.Parse("15:04", q.To)
	if err != nil {
		return 0, 0, nil, err
	}
	if a.Equal(b) {
		return 0, 0, nil, terret.Invalid("quiet", "they end when they begin")
	}
	return a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute(), zone, nil
}

// until returns when the quiet hours end in which now is, or zero.
func (q *Quiet) until(now time.Time) time.Time {
	if q == nil {
		return time.Time{}
	}
	from, to, zone, err := q.parse()
	if err != nil { // the zone is not there any more
		return time.Time{}
	}
	at := now.In(zone)
	m := at.Hour()*60 + at.Minute()
	if quiet := from < to && from <= m && m < to || from > to && (m >= from || m < to); !quiet {
		return time.Time{}
	}
	end := time.Date(at.Year(), at.Month(), at.Day(), to/60, to%60, 0, 0, zone)
	if !end.After(now) {
		end = time.Date(at.Year(), at.Month(), at.Day()+1, to/60, to%60, 0, 0, zone)
	}
	return end
}
