package native

import (
	"context"
	"strings"

	"github.com/terret-dev/terret"
)

// chosen is a model that somebody chose, and what is known about it.
type chosen struct {
	model
	id     string // PROVIDER/MODEL, or demo
	card   card
	priced bool // the card says what it costs
}

// choose makes the model of that name, for a session or turn with these settings.
func (d *Driver) choose(name string, in terret.Settings) (*chosen, error) {
	c, err := d.describe(name)
	if err != nil {
		return nil, err
	}
	if err := missing(in, c.capabilities()); err != nil {
		return nil, err
	}
	c.model, err = d.model(name, c.card)
	return c, err
}

// Complete asks a model once, without tools, and returns what it says.
func (d *Driver) Complete(ctx context.Context, model, system, prompt string) (string, error) {
	c, err := d.choose(model, terret.Settings{})
	if err != nil {
		return "", err
	}
	r, err := c.generate(ctx, query{system: system, messages: []message{{role: terret.RoleUser, blocks: []terret.Block{terret.Text(prompt)}}}}, func(piece) error { return ctx.Err() })
	return terret.TextOf(r.blocks), err
}

// describe says what is known about a model of that name, which need not exist.
func (d *Driver) describe(name string) (*chosen, error) {
	c := &chosen{id: name, priced: name == DemoModel}
	if name == DemoModel {
		return c, nil
	}
	t, err := d.table()
	if err != nil {
		return nil, err
	}
	c.card, c.priced = t.find(name)
	return c, nil
}

// model makes the model of that name.
func (d *Driver) model(name string, known card) (model, error) {
	if name == DemoModel || d.cfg.Replay != nil { // then the recording answers
		return demo{}, nil
	}
	p, rest, ok := d.cfg.find(name)
	if !ok {
		return nil, terret.Errorf(terret.CodeModelNotFound, "there is no model %q; use demo, or one of %s/MODEL", name, strings.Join(d.cfg.ProviderNames(), "/MODEL, "))
	}
	e, err := d.endpoint(p, rest)
	if err != nil {
		return nil, err
	}
	e.card = known
	return e.speak(e), nil
}

// cost is what a call cost: what the provider says, or else what the card says.
func (c *chosen) cost(r reply) terret.Cost {
	if r.cost > 0 {
		return r.cost
	}
	return c.card.cost(r.usage)
}

// capabilities are those of an agent with the model.
func (c *chosen) capabilities() terret.Capabilities {
	out := terret.Capabilities{Oversight: terret.OversightAll, Abilities: map[terret.Capability]terret.Ability{}}
	can := []terret.Capability{
		terret.CanPermissions, terret.CanQuestions, terret.CanStream, terret.CanMultiTurn, terret.CanReconnect, terret.CanInterrupt,
		terret.CanEditInput, terret.CanSystemPrompt, terret.CanPlan, terret.CanSelectModel,
		terret.CanUndo, terret.CanRedo, terret.CanSteer, terret.CanCompact, terret.CanStructuredOutput, terret.CanMCP, terret.CanFork, terret.CanForkAt, terret.CanCommands, terret.CanHooks, terret.CanSubagents,
	}
	cannot := map[terret.Capability]string{
		terret.CanOneShot: "it has no process that could end with a turn",
		terret.CanPrewarm: "it has no process that could be started before it is needed",
	}
	if c.priced {
		can = append(can, terret.CanCost, terret.CanBudget)
	} else {
		why := "the price of " + c.id + " is not known; add it to the file that the setting prices names"
		cannot[terret.CanCost], cannot[terret.CanBudget] = why, why
	}
	if off(c.card.Images) {
		cannot[terret.CanAttachments] = "the model " + c.id + " takes no images"
	} else {
		can = append(can, terret.CanAttachments)
	}
	if c.thinks() {
		can = append(can, terret.CanReasoning)
	} else {
		cannot[terret.CanReasoning] = "the model " + c.id + " does not think aloud"
	}
	for _, name := range can {
		out.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	for name, why := range cannot {
		out.Abilities[name] = terret.Ability{Reason: why}
	}
	out.Abilities[terret.CanQueue] = terret.Ability{OK: true, By: terret.ByHarness}
	return out
}

// thinks reports whether the model says what it thinks.
func (c *chosen) thinks() bool {
	return c.id != DemoModel && c.card.Thinking != thinkNone
}
