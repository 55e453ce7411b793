package acp

import (
	"cmp"

	"github.com/terret-dev/terret"
)

// Describe implements terret.Describer.
func (d *Driver) Describe() terret.Description {
	about := terret.Description{Title: cmp.Or(d.p.Title, d.p.Name), Env: d.p.Env, Program: true, Install: d.p.Install, ProjectFiles: d.p.Files}
	if d.p.Can != nil {
		can := d.p.capabilities(*d.p.Can)
		about.Can = &can
	}
	return about
}
