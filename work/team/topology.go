package team

import (
	"slices"

	"github.com/terret-dev/terret"
)

// TopologyKind names how messages may flow between agents.
type TopologyKind string

// The kinds. The empty value means Broadcast.
const (
	Broadcast    TopologyKind = "broadcast"    // everybody reaches everybody
	Filtered     TopologyKind = "filtered"     // recipients say what reaches them
	Hierarchical TopologyKind = "hierarchical" // an agent reaches its lead and its reports
	Custom       TopologyKind = "custom"       // as Routes says
)

// Topology says which agent may write to which. A message for all goes to whomever its
// sender reaches. People reach everybody and everybody reaches them, and an agent may
// always answer whoever wrote to it.
type Topology struct {
	Kind TopologyKind `json:"kind,omitempty"`
	// Routes says whom each agent reaches: names, or all. An agent that is not listed
	// reaches nobody. It is for the kind custom.
	Routes map[string][]string `json:"routes,omitempty"`
	// Filters says what reaches each agent. It is for the kind filtered.
	Filters map[string]Filter `json:"filters,omitempty"`
}

// Filter says which messages reach an agent. An empty list means any.
type Filter struct {
	From  []string      `json:"from,omitempty"`
	Types []MessageType `json:"types,omitempty"`
}

// Validate rejects an unknown kind, and settings of another kind.
func (t Topology) Validate() error {
	switch t.Kind {
	case "", Broadcast, Filtered, Hierarchical, Custom:
	default:
		return terret.Invalid("topology.kind", "%q is not a topology; use broadcast, filtered, hierarchical or custom", t.Kind)
	}
	if t.Routes != nil && t.Kind != Custom {
		return terret.Invalid("topology.routes", "they are for the kind custom")
	}
	if t.Filters != nil && t.Kind != Filtered {
		return terret.Invalid("topology.filters", "they are for the kind filtered")
	}
	for _, f := range t.Filters {
		for _, kind := range f.Types {
			if err := kind.Validate(); err != nil {
				return terret.Invalid("topology.filters", "%w", err)
			}
		}
	}
	return nil
}

// reaches reports whether one agent's message of that type gets to another.
func (t Topology) reaches(from, to Config, kind MessageType) bool {
	switch t.Kind {
	case Filtered:
		f := t.Filters[to.Name]
		return (len(f.From) == 0 || slices.Contains(f.From, from.Name)) && (len(f.Types) == 0 || slices.Contains(f.Types, kind))
	case Hierarchical:
		return from.ReportsTo == to.Name || to.ReportsTo == from.Name
	case Custom:
		routes := t.Routes[from.Name]
		return slices.Contains(routes, to.Name) || slices.Contains(routes, All)
	case Broadcast:
	}
	return true
}
