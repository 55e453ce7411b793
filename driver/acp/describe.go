package acp

import (
	"cmp"

	"github.com/terret-dev/terret"
)

// Describe implements terret.Describer.
func (d *Driver) Describe() terret.Description {
	return terret.Description{Title: cmp.Or(d.p.Title, d.p.Name), Env: d.p.Env, Program: true}
}
