// Package native is Terret's own agent: a loop over a model's API, in this
// process, with tools of its own. It is what runs when no other agent is installed,
// and with the demo model it needs no key and no network either.
//
// Its memory is the session's log. When a session is opened again, the
// conversation is rebuilt from the messages in it; there is no second copy. What
// was streamed of an answer that broke off is in the log, as deltas under a message
// id of its own, and not in the memory.
//
// Every use of a tool passes the host. Reading and searching inside the session's
// folder passes the gate pre_tool, where rules and policies deny and nobody is
// asked, unless a rule leaves it open; everything else passes the gate permission.
// In the permission mode "plan" the agent itself denies what may change something,
// until a plan is approved. Its other permission modes are matters of the session's
// policy.
//
// The calls of one answer run at once, except that edits run one after the other,
// in order.
//
// Models are named "provider/model": "anthropic/claude-sonnet-4-5", or "demo".
package native
