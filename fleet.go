package terret

import "context"

// Node is a server of a fleet: a process that owns sessions and that others can ask to do
// what only its machine can.
type Node struct {
	Name    string   `json:"name"`
	Worker  string   `json:"worker"`
	Host    string   `json:"host"`
	PID     int      `json:"pid"`
	Version string   `json:"version,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Max     int      `json:"max,omitempty"` // sessions that it wants at most; 0 means no limit
	Roots   []string `json:"roots,omitempty"`
	// Draining means that it gets no new sessions, and stops when its turns have ended.
	Draining  bool `json:"draining,omitempty"`
	StartedAt Time `json:"started_at"`
	SeenAt    Time `json:"seen_at"` // when it last renewed its lease, by the store's clock
	// Sessions counts those whose folder it has, Owned those whose agents it runs or ran
	// last, Working those with a running turn.
	Sessions int `json:"sessions"`
	Owned    int `json:"owned"`
	Working  int `json:"working"`
	// Place tells apart two installations that use the same name.
	Place string `json:"-"`
}

// Call is a question of another node.
type Call struct {
	ID       string
	Question []byte
}

// Fleet is a store that several machines share. Its nodes tell each other nothing except
// through it.
type Fleet interface {
	// Join makes this process a node. It refuses a name that another installation uses
	// at the moment. Joining again changes what the node says of itself.
	Join(ctx context.Context, n Node) error
	// Nodes lists the living nodes by name.
	Nodes(ctx context.Context) ([]Node, error)
	// Call asks a node and waits for its answer. It fails with not_found if there is no
	// such node, or none any more, and with conflict if the process that took the
	// question is gone: nobody knows what it has done.
	Call(ctx context.Context, node string, question []byte) (answer []byte, err error)
	// Calls takes what others have asked of this node. The caller must Reply to each.
	Calls(ctx context.Context) ([]Call, error)
	Reply(ctx context.Context, id string, answer []byte) error
	// Document returns what ChangeDocument has stored under a name; nil if nothing.
	Document(ctx context.Context, name string) ([]byte, error)
	// Documents returns all whose name has a prefix.
	Documents(ctx context.Context, prefix string) (map[string][]byte, error)
	// ChangeDocument replaces a document by what fn makes of it, with nobody in between;
	// nil removes it. The function may be called several times.
	ChangeDocument(ctx context.Context, name string, fn func(old []byte) ([]byte, error)) error
}
