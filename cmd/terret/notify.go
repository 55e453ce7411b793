package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/notify"
)

func newNotify(a *app) *cobra.Command {
	var asJSON bool
	list := func(cmd *cobra.Command, _ []string) error { return runNotifyLs(cmd.Context(), a, asJSON) }
	cmd := &cobra.Command{
		Use: "notify", Short: "Be told elsewhere: by ntfy, and by signed webhooks", Args: exactArgs(),
		Long: "List, add, test and remove the channels that are told what waits for you, without a\n" +
			"browser: topics of ntfy, and webhooks. While `terret serve` runs, it sends to them.",
		Example: "  terret notify add ntfy --name phone --url https://ntfy.sh/a-topic-nobody-guesses --on needs,failed\n" +
			"  terret notify test phone",
		RunE: list,
	}
	ls := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exactArgs(), RunE: list,
		Short: "List the channels, what is still to be sent, and what was given up",
	}
	for _, c := range []*cobra.Command{cmd, ls} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	test := &cobra.Command{
		Use: "test NAME", Short: "Send a message to a channel as a test", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runNotifyTest(cmd.Context(), a, args[0]) },
	}
	rm := &cobra.Command{
		Use: "rm NAME", Aliases: []string{"remove"}, Short: "Remove a channel, and what it was not told yet", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runNotifyRm(cmd.Context(), a, args[0]) },
	}
	cmd.AddCommand(ls, newNotifyAdd(a), test, rm)
	return cmd
}

// notifier keeps the channels, and tries one. A *client.Client is one.
type notifier interface {
	Notify(ctx context.Context) (client.Notify, error)
	SetNotify(ctx context.Context, s client.NotifySettings) (client.Notify, error)
	TestNotify(ctx context.Context, id string) error
}

// notifier is the server that runs or, if none does, this process. Agents may not use it: the
// address of a channel can be a secret, and messages can allow what an agent asks.
func (a *app) notifier(ctx context.Context) (notifier, error) {
	if access.Inside(a.environ) {
		return nil, access.ErrInside("channels of notification are for people")
	}
	tokens, err := a.tokens(true)
	if err != nil {
		return nil, err
	}
	at, err := runningServer(a.data)
	if err == nil {
		secret, err := tokens.AdminToken()
		if err != nil {
			return nil, err
		}
		return client.New(at.URL, client.Options{Token: secret, HTTP: at.client()})
	}
	if terret.AsError(err).Code != terret.CodeNotFound {
		return nil, err
	}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	book := &notify.Book{Home: a.data}
	if fleet, ok := a.harness.Store.(terret.Fleet); ok {
		book.Shared = fleet
	}
	return &notifiesHere{store: a.harness.Store, book: book}, nil
}

// notifiesHere does what a server would do if one ran.
type notifiesHere struct {
	store terret.Store
	book  *notify.Book
}

// Notify implements notifier.
func (n *notifiesHere) Notify(ctx context.Context) (out client.Notify, err error) {
	p, q, err := n.book.Show(ctx)
	if err != nil {
		return out, err
	}
	err = alike(map[string]any{
		"base_url": p.Base, "dropped": q.Dropped,
		"channels": append([]notify.Channel{}, p.Channels...), "waiting": append([]notify.Delivery{}, q.Waiting...), "lost": append([]notify.Delivery{}, q.Lost...),
	}, &out)
	return out, err
}

// SetNotify implements notifier.
func (n *notifiesHere) SetNotify(ctx context.Context, s client.NotifySettings) (out client.Notify, err error) {
	pos, err := n.store.LastPos(ctx)
	if err != nil {
		return out, err
	}
	var channels []notify.Channel
	if err := alike(s.Channels, &channels); err != nil {
		return out, err
	}
	if err := n.book.Put(ctx, s.BaseURL, channels, pos); err != nil {
		return out, err
	}
	return n.Notify(ctx)
}

// TestNotify implements notifier.
func (n *notifiesHere) TestNotify(ctx context.Context, id string) error {
	q := &notify.Queue{Book: n.book, Clients: notify.NewClients()}
	defer q.Clients.Close()
	p, err := n.book.Read(ctx)
	if err != nil {
		return err
	}
	return q.Test(ctx, id, notify.TestMessage(p.Base))
}

// alike fills a value from one that has the same JSON.
func alike(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func runNotifyLs(ctx context.Context, a *app, asJSON bool) error {
	n, err := a.notifier(ctx)
	if err != nil {
		return err
	}
	all, err := n.Notify(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(all)
	}
	err = listing[client.NotifyChannel]{
		none: "no channels; `terret notify add ntfy --url ADDRESS` adds one",
		head: "NAME\tKIND\tADDRESS\tTELLS\tQUIET\tMAY",
		row:  notifyRow,
	}.show(a, false, all.Channels)
	if err != nil {
		return err
	}
	return showDeliveries(a, all)
}

func notifyRow(c client.NotifyChannel) string {
	tells, quiet := "everything", "never"
	if len(c.Events) > 0 {
		tells = strings.Join(c.Events, ",")
	}
	if c.Disabled {
		tells = "nothing"
	}
	if c.Quiet != nil {
		quiet = strings.TrimSpace(c.Quiet.From + "-" + c.Quiet.To + " " + c.Quiet.Zone)
	}
	var may []string
	for word, does := range map[string]bool{"answer": c.Answers, "be inside": c.Private} {
		if does {
			may = append(may, word)
		}
	}
	slices.Sort(may)
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", printable(c.ID), c.Kind, printable(c.URL), tells, quiet, nonEmpty(strings.Join(may, ", "), "-"))
}

// showDeliveries prints what was not delivered, if there is any.
func showDeliveries(a *app, all client.Notify) error {
	if len(all.Waiting) > 0 {
		fmt.Fprintln(a.out, "\nStill to be sent:")
		l := listing[client.NotifyDelivery]{head: "CHANNEL\tEVENT\tSESSION\tWHEN\tTRIES\tNEXT\tWHY", row: func(d client.NotifyDelivery) string {
			return deliveryRow(d, d.Due.Local().Format(time.DateTime)+"\t")
		}}
		if err := l.print(a.out, all.Waiting); err != nil {
			return err
		}
	}
	if len(all.Lost) > 0 {
		fmt.Fprintln(a.out, "\nGiven up:")
		l := listing[client.NotifyDelivery]{head: "CHANNEL\tEVENT\tSESSION\tWHEN\tTRIES\tWHY", row: func(d client.NotifyDelivery) string { return deliveryRow(d, "") }}
		if err := l.print(a.out, all.Lost); err != nil {
			return err
		}
	}
	if all.Dropped > 0 {
		a.note("%d messages were dropped, since too many waited", all.Dropped)
	}
	return nil
}

func deliveryRow(d client.NotifyDelivery, next string) string {
	session := "-"
	if len(d.Session) >= len("0190a1b2-c3d4") {
		session = shortID(d.Session)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s%s", printable(d.Channel), printable(d.Event), session, ago(d.At), d.Tries, next, nonEmpty(oneLine(d.Error), "-"))
}

type notifyOptions struct {
	url, name, base, quiet, zone    string
	on                              []string
	private, answers, token, byHand bool
}

func newNotifyAdd(a *app) *cobra.Command {
	var o notifyOptions
	cmd := &cobra.Command{
		Use: "add ntfy|webhook --url ADDRESS", Short: "Add a channel: a topic of ntfy, or a webhook", Args: exactArgs("KIND"),
		Long: "Add a channel: a topic of ntfy, or a webhook.\n\n" +
			"Secrets are read from standard input, and a terminal does not show them: what signs a\n" +
			"webhook's messages, or with --token an access token of ntfy. `--url -` reads the address\n" +
			"there, too, on a line before, if it is a secret itself.",
		Example: "  terret notify add ntfy --name phone --url https://ntfy.sh/a-topic-nobody-guesses --on needs,failed --quiet 22:00-07:00\n" +
			"  terret notify add webhook --name ci --url https://ci.example.com/terret < secret.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.byHand = cmd.Flags().Changed("base-url")
			return runNotifyAdd(cmd.Context(), a, args[0], o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.url, "url", "", "address of the topic, such as https://ntfy.sh/my-topic, or what is posted to; - reads it from standard input")
	fl.StringVar(&o.name, "name", "", "how to call it (default: ntfy or webhook)")
	fl.StringSliceVar(&o.on, "on", nil, "what it is told: needs (a request waits), done, failed, budget (default: all)")
	fl.StringVar(&o.quiet, "quiet", "", "when nothing is sent, such as 22:00-07:00; what is then still true is sent afterwards")
	fl.StringVar(&o.zone, "zone", "", "time zone of --quiet, such as Europe/Berlin (default: the server's)")
	fl.BoolVar(&o.private, "private", false, "an address of this machine or of a private network is meant, and may be http")
	fl.BoolVar(&o.answers, "answers", false, "ntfy: whoever reads the topic may allow or deny what a message asks")
	fl.BoolVar(&o.token, "token", false, "ntfy: read an access token from standard input")
	fl.StringVar(&o.base, "base-url", "", "where people reach this server, for the links of all channels (default: the server's first --origin)")
	return cmd
}

// channel is what the flags say, without what is read from standard input.
func (o notifyOptions) channel(kind string) (c client.NotifyChannel, err error) {
	c = client.NotifyChannel{ID: cmp.Or(o.name, kind), Kind: kind, URL: o.url, Events: o.on, Private: o.private, Answers: o.answers}
	switch {
	case kind != string(notify.Ntfy) && kind != string(notify.Webhook):
		return c, terret.Invalid("kind", "%q is not a kind of channel; use ntfy or webhook", kind)
	case o.url == "":
		return c, terret.Invalid("url", "it is missing; name the address with --url")
	case o.token && kind != string(notify.Ntfy):
		return c, terret.Invalid("token", "it goes with ntfy; a webhook's secret is always read from standard input")
	case o.zone != "" && o.quiet == "":
		return c, terret.Invalid("zone", "it goes with --quiet")
	}
	if o.quiet != "" {
		from, to, ok := strings.Cut(o.quiet, "-")
		if !ok {
			return c, terret.Invalid("quiet", "%q is no part of a day; write it like 22:00-07:00", o.quiet)
		}
		c.Quiet = &client.NotifyQuiet{From: strings.TrimSpace(from), To: strings.TrimSpace(to), Zone: o.zone}
	}
	return c, nil
}

func runNotifyAdd(ctx context.Context, a *app, kind string, o notifyOptions) error {
	c, err := o.channel(kind)
	if err != nil {
		return err
	}
	n, err := a.notifier(ctx)
	if err != nil {
		return err
	}
	set, err := n.Notify(ctx)
	if err != nil {
		return err
	}
	if hasChannel(set, c.ID) {
		return terret.Errorf(terret.CodeConflict, "there already is a channel %s; choose another --name, or remove it with `terret notify rm %s`", printable(c.ID), printable(c.ID))
	}
	secrets := a.lines()
	if o.url == "-" {
		if c.URL, err = readSecret(a, secrets, "Address (it is not shown): "); err != nil {
			return err
		}
	}
	if kind == string(notify.Webhook) || o.token {
		if c.Secret, err = readSecret(a, secrets, "Secret of "+printable(c.ID)+" (it is not shown): "); err != nil {
			return err
		}
		if c.Secret == "" {
			return terret.Invalid("secret", "there is none on standard input")
		}
	}
	settings := set.NotifySettings
	if o.byHand {
		settings.BaseURL = o.base
	}
	settings.Channels = append(slices.Clone(settings.Channels), c)
	if _, err := n.SetNotify(ctx, settings); err != nil {
		return err
	}
	a.note("%s is told what happens from now on, while `terret serve` runs; `terret notify test %s` tries it", printable(c.ID), printable(c.ID))
	return nil
}

func hasChannel(set client.Notify, name string) bool {
	return slices.ContainsFunc(set.Channels, func(c client.NotifyChannel) bool { return c.ID == name })
}

// notifyNamed returns the channels, among which must be one of that name.
func (a *app) notifyNamed(ctx context.Context, name string) (notifier, client.Notify, error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, client.Notify{}, err
	}
	set, err := n.Notify(ctx)
	if err == nil && !hasChannel(set, name) {
		err = terret.Errorf(terret.CodeNotFound, "there is no channel %s; `terret notify` lists them", printable(name))
	}
	return n, set, err
}

func runNotifyTest(ctx context.Context, a *app, name string) error {
	n, _, err := a.notifyNamed(ctx, name)
	if err != nil {
		return err
	}
	if err := n.TestNotify(ctx, name); err != nil {
		return err
	}
	a.note("%s has taken the test", printable(name))
	return nil
}

func runNotifyRm(ctx context.Context, a *app, name string) error {
	n, set, err := a.notifyNamed(ctx, name)
	if err != nil {
		return err
	}
	settings := set.NotifySettings
	settings.Channels = slices.DeleteFunc(slices.Clone(settings.Channels), func(c client.NotifyChannel) bool { return c.ID == name })
	_, err = n.SetNotify(ctx, settings)
	return err
}
