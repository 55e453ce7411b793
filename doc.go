// Package terret is the vocabulary of Terret, one harness for every coding
// agent: the words that drivers, the engine, stores and frontends share. It
// imports the standard library only and does nothing by itself.
//
// # The vocabulary
//
// An [Event] is one fact in the life of a session: its envelope says when, in which
// session and turn, and by whom; its [Data] says what, with one struct for each [Kind].
// Drivers translate an agent's own protocol into events, views translate events into
// other dialects, and everything in between uses events only.
//
// An event that waits for an answer carries [Expects]: an agent asks for permission,
// asks a question, presents a plan, or calls a hook. Each such request gets exactly one
// [Decision], whatever crashes in the meantime. Rules decide first, then the session's
// policy, then a person, and at last the time limit, if there is one.
//
// A [Session] is a conversation with one agent in one folder. It runs one [Turn] at a
// time; a prompt that arrives meanwhile is queued, steers the running turn, or is
// refused, as its sender chooses.
//
// Every failure is an [*Error] with an [ErrorCode]: programs branch on the code, people
// read the message, and one table maps the code to HTTP status, exit code and JSON-RPC
// code.
//
// # The log
//
// The log is the truth. An event gets its sequence number when a [Store] commits it,
// and nobody sees it before that. Sequence numbers only go up, so a reader that has
// seen number N resumes after N and misses nothing. The store holds the bytes of an
// event as they were first written ([Entry]) and serves them unchanged, so kinds and
// fields that this version does not know survive every round trip. [Entry.Decode]
// returns the typed form: a kind from a newer version decodes as [Opaque].
//
// Any number of processes can share a store. A session has one owner at a time; each
// [Store.Claim] raises its epoch, and a commit under an older epoch writes nothing and
// says so ([ErrFenced]).
//
// # The agents
//
// A [Driver] opens an [Agent] for a session and passes what the agent says to its
// [Host]: Emit for facts, Ask for requests. Agent has four methods, Prompt, Interrupt,
// Close and Capabilities; everything else an agent can do is an optional interface
// ([Steerer], [Forker], [ModelLister] ...) and a [Capability] that says whether it
// works, who provides it, and if not, why.
package terret
