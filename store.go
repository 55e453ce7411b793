package terret

import (
	"context"
	"time"
)

// Store keeps sessions and their log, for any number of processes at once. Each open
// store is a worker; a session belongs to at most one worker at a time. All methods are
// safe for concurrent use. Unless it says otherwise, a method that returns an error has
// changed nothing, except that a disk failing during a commit may have completed it:
// every call can be repeated.
type Store interface {
	Log
	Ownership
	Sessions
	Searcher
	Requests
	Inbox
	Rules
	// Close gives back all sessions that this worker owns and waits for running
	// calls.
	Close() error
}

// Log is the append-only log of all sessions.
//
// What readers see survives a power cut: it is on disk before Commit returns, and before
// anybody else sees it.
//
// No Seq or Pos is ever reused. Numbers are dense, except where Compact has removed pieces,
// or where an earlier version lost events in a power cut. So a reader that continues after
// the last number it has seen misses nothing and sees nothing twice.
type Log interface {
	// Commit appends batches in one transaction, at most one batch for each session,
	// and returns when they are on disk and readers can see them. Each batch
	// succeeds or fails on its own, as its Result says. The error is about the
	// transaction as a whole: then nothing was written, unless the disk has failed and
	// Commit, which then looks, could not find out either.
	//
	// The tables for lists and filters (sessions, turns, requests, usage) are updated
	// from the events in the same transaction.
	Commit(ctx context.Context, batches []Batch) ([]Result, error)
	// Read returns a page of events of one session in order. It may return fewer than
	// asked for, but none only if there are no more.
	Read(ctx context.Context, q ReadQuery) ([]Entry, error)
	// ReadAll returns a page of events of several or all sessions in the order in
	// which they were committed.
	ReadAll(ctx context.Context, q ReadAllQuery) ([]Entry, error)
	// LastPos is the greatest Pos assigned so far, even if its event is gone, or 0.
	LastPos(ctx context.Context) (int64, error)
	// Wait blocks until something was committed, here or in another process, since the
	// version that an earlier call returned; version 0 returns at once. It may return
	// spuriously.
	Wait(ctx context.Context, since int64) (version int64, err error)
	// WaitForeign is Wait for the owners of sessions: it blocks until there may be work
	// for them, because another process has committed something, or a caller here has
	// sent to a session or answered a request. Its versions are its own.
	WaitForeign(ctx context.Context, since int64) (version int64, err error)
}

// Batch is what happens to one session in one commit.
type Batch struct {
	Session string
	// Epoch is what Claim returned.
	Epoch int64
	// After is the last sequence number that the owner knows of.
	After int64
	// Events get the numbers from After+1 on. Consecutive pieces of text are merged
	// first, so there may be fewer.
	Events []Event
	// Cursor is the driver's; nil leaves it unchanged.
	Cursor []byte
	// Taken names the inbox items that this commit handles.
	Taken []string
	// Delivered names requests whose decision has reached the agent.
	Delivered []string
	// Hits counts how often rules decided.
	Hits map[string]int64
}

// Result is the outcome of a batch.
type Result struct {
	// Entries are the events as they are stored.
	Entries []Entry
	LastSeq int64
	// Err is nil, ErrFenced, an already_decided error if the batch decides a request
	// that already has a decision, or another *Error about this session.
	Err error
}

// ReadQuery selects events of one session.
type ReadQuery struct {
	Session string
	After   int64 // only events with a greater number
	Before  int64 // only events with a smaller number; 0 means all
	Limit   int   // at most; 0 means a sensible page
	Bytes   int   // after which a page ends early; 0 means a sensible size
	Raw     bool  // with the agent's own messages
	Kinds   []Kind
	// Backward reads from the newest to the oldest: after a page that ended with number
	// n, ask for Before n. Reading a few kinds in either direction skips pieces of
	// text, however many there are.
	Backward bool
}

// ReadAllQuery selects events across sessions.
type ReadAllQuery struct {
	After    int64    // only entries with a greater Pos
	Sessions []string // nil means all
	Limit    int
	Bytes    int // as that of ReadQuery
	Kinds    []Kind
}

// Ownership says which worker may append to a session.
type Ownership interface {
	// Worker is this worker's id.
	Worker() string
	// Claim makes this worker the owner and raises the epoch, even if it already is the
	// owner. It fails with a conflict that names the owner if another living worker
	// owns the session.
	Claim(ctx context.Context, session string) (Claim, error)
	// Release gives the session back, if this worker still owns it in that epoch.
	Release(ctx context.Context, session string, epoch int64) error
	// Orphans lists sessions whose owner has died.
	Orphans(ctx context.Context) ([]Session, error)
}

// Claim is what a new owner needs to know.
type Claim struct {
	Session Session
	Cursor  []byte
}

// Sessions is the list of sessions.
type Sessions interface {
	// Create adds a session that nobody owns. Its ID, Agent and Cwd must be set.
	Create(ctx context.Context, s Session) (Session, error)
	Session(ctx context.Context, id string) (Session, error)
	ListSessions(ctx context.Context, f SessionFilter) (Page[Session], error)
	// CountSessions counts sessions in any of these states, or all sessions.
	CountSessions(ctx context.Context, states ...SessionState) (int, error)
	// Delete removes the session and everything that belongs to it. It fails with a
	// conflict if another worker owns it. If it is interrupted, the session is gone
	// from all lists and the rest is removed later.
	Delete(ctx context.Context, id string) error
	// Turns lists the turns of a session, oldest first.
	Turns(ctx context.Context, session string) ([]Turn, error)
	// Turn returns one turn of a session. A queued turn has not begun: find it among
	// the Pending items instead.
	Turn(ctx context.Context, session, id string) (Turn, error)
	// UsageBy sums up usage, grouped by day, agent, model or cwd.
	UsageBy(ctx context.Context, group string, since, until Time) ([]UsageRow, error)
}

// Page is part of a list. Items is never nil, and Next is empty on the last page.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// SessionFilter selects sessions. The zero value selects all, the most recently
// updated first.
type SessionFilter struct {
	IDPrefix string
	Agent    string
	Cwd      string
	NativeID string
	States   []SessionState
	Query    string // words that all occur in title, folder, model or agent
	// UpdatedBefore selects sessions in which nothing has happened since then; zero
	// means all.
	UpdatedBefore Time
	Sort          string // updated (default), created, title, cost
	Limit         int
	Cursor        string // Next of the previous page
}

// Searcher finds messages by their words.
type Searcher interface {
	// Search returns what people and agents said that holds all these words, the newest
	// first. A word also finds those that begin with it, and case does not matter. It
	// finds everything that was committed before the call: what is not indexed yet is
	// indexed first. Without a word it fails with an invalid_request error.
	Search(ctx context.Context, q SearchQuery) (Page[Found], error)
}

// SearchQuery selects messages.
type SearchQuery struct {
	Words   string
	Session string // only this session; empty means all
	Limit   int    // at most; 0 means 50
	Cursor  string // Next of the previous page
}

// Found is a message that a search found. Text is the part of it around the first of
// the words, on one line.
type Found struct {
	Session   string `json:"session"`
	Title     string `json:"title"` // of the session, as are Agent and Cwd
	Agent     string `json:"agent"`
	Cwd       string `json:"cwd"`
	Seq       int64  `json:"seq"` // of the event that holds the message
	Time      Time   `json:"time"`
	Turn      string `json:"turn,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	Role      Role   `json:"role"`
	Text      string `json:"text"`
}

// UsageRow is a line of a usage report.
type UsageRow struct {
	Key     string `json:"key"`
	Turns   int64  `json:"turns"`
	Usage   Usage  `json:"usage"`
	CostUSD Cost   `json:"cost_usd"`
}

// Requests is the list of what waits for a decision.
type Requests interface {
	Request(ctx context.Context, id string) (Request, error)
	ListRequests(ctx context.Context, f RequestFilter) (Page[Request], error)
	// Answer decides an open request on behalf of a process that does not own its
	// session: of any number of answers exactly one succeeds; the others fail with
	// already_decided and name the winner. The owner then commits the decision's event
	// and tells the agent.
	Answer(ctx context.Context, d Decision) error
	// Answered lists requests of this worker's sessions that were decided by Answer
	// and whose event is not committed yet.
	Answered(ctx context.Context) ([]Request, error)
}

// RequestFilter selects requests, oldest first.
type RequestFilter struct {
	Session string
	State   RequestState // empty means all
	Limit   int
	Cursor  string
}

// Inbox is how processes that do not own a session reach its owner, and the queue of
// prompts.
type Inbox interface {
	// Send adds an item. ID, Session and Kind must be set. Sending an id again adds
	// nothing.
	Send(ctx context.Context, item InboxItem) error
	// Pending lists the unhandled items of a session (or, with an empty id, of all
	// sessions that this worker owns), in the order to handle them.
	Pending(ctx context.Context, session string) ([]InboxItem, error)
	// Edit changes the body of a pending item, or moves it before the item with that
	// id, or to the end if "end". Empty values change nothing.
	Edit(ctx context.Context, id string, body JSON, before string) error
	// Drop removes a pending item.
	Drop(ctx context.Context, id string) error
}

// InboxKind says what an item asks for.
type InboxKind string

// The kinds of items. A prompt's id is that of its turn. Its body is a Prompt, plus the
// command it replaces, if any.
const (
	InboxPrompt    InboxKind = "prompt"
	InboxInterrupt InboxKind = "interrupt"
	InboxKill      InboxKind = "kill"
	InboxClose     InboxKind = "close"
	InboxUpdate    InboxKind = "update" // body is a SessionUpdated
	InboxNote      InboxKind = "note"   // body is what to append to a log without an agent
	InboxWake      InboxKind = "wake"   // the node that has the folder must take the session
)

// InboxItem is a task for the owner of a session.
type InboxItem struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Kind    InboxKind `json:"kind"`
	Body    JSON      `json:"body,omitempty"`
	By      string    `json:"by,omitempty"`
	At      Time      `json:"at"`
}

// Rules is the list of rules.
type Rules interface {
	// ListRules lists the permanent rules and, with a session's id, also those of that
	// session, oldest first.
	ListRules(ctx context.Context, session string) ([]Rule, error)
	// PutRule adds a rule, or replaces the one with its id.
	PutRule(ctx context.Context, r Rule) error
	DeleteRule(ctx context.Context, id string) error
}

// Maintainer is a store's upkeep.
type Maintainer interface {
	// Compact drops the pieces of text older than the cut-off whose complete text is in
	// the log, and what interrupted deletions left behind. It returns the number of
	// dropped events. It also indexes what is new, so that a search need not.
	Compact(ctx context.Context, before time.Time) (dropped int64, err error)
	// Backup writes a consistent copy to a new file.
	Backup(ctx context.Context, path string) error
	// Check reads everything and reports what is wrong, one finding per string.
	Check(ctx context.Context) (findings []string, err error)
}
