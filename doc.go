// Package terret is the vocabulary of Terret, one harness for every coding
// agent: the words that drivers, the engine, stores and frontends share. It
// imports the standard library only and does nothing by itself.
//
// # The words
//
// An [Event] is one fact in the life of a session: its envelope says when, in
// which session and turn, and by whom; its [Data] says what, as one struct for
// each [Kind]. Drivers translate an agent's own protocol into events, views
// translate events out into other dialects, and nothing in between speaks any
// other language.
//
// An event that waits for an answer carries [Expects]: an agent asks for
// permission, puts a question, presents a plan, or calls a hook. Each such
// request gets exactly one [Decision], whatever dies in the meantime. Deciders
// are asked in order: deny rules, allow rules, the session's policy, a person,
// and at last the clock.
//
// A [Session] is a conversation with one agent in one folder. It runs one
// [Turn] at a time; prompts that arrive meanwhile are queued, steer the running
// turn, or are refused, as the sender wishes.
//
// Whatever goes wrong is an [*Error] with an [ErrorCode]: the program branches
// on the kind, the person reads the message, and one table maps the kind to
// HTTP status, exit code and JSON-RPC code.
//
// # The log
//
// The log is the truth. An event has a sequence number only once a [Store] has
// committed it, and it is shown to anybody only after that. Sequence numbers are
// dense in each session, so a reader that has seen number N resumes after N and
// misses nothing. What the store holds are the bytes of an event as they were
// first written ([Entry]); they are served unchanged, so kinds and fields that
// this version does not know survive every round trip. [Entry.Decode] gives the
// typed form on demand: a kind from a newer version decodes as [Opaque].
//
// Any number of processes share a store. A session has one owner at a time; each
// [Store.Claim] raises its epoch, and a commit under an older epoch writes
// nothing and says so ([ErrFenced]).
//
// # The agents
//
// A [Driver] opens an [Agent] for a session and hands what the agent says to the
// [Host] it was given: Emit for facts, Ask for requests. Agent has three verbs,
// Prompt, Interrupt and Close; everything else an agent may be able to do is an
// optional interface ([Steerer], [Forker], [ModelLister] ...) and a [Capability]
// that says whether it works, who provides it and if not, why.
package terret
