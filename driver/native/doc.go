// Package native is Terret's own agent: an in-process loop over a model's API, with its
// own tools. It runs if no other agent is installed; with the demo model it needs
// neither a key nor a network.
//
// Its memory is the session's log. When a session is reopened, the conversation is
// rebuilt from the messages in the log; there is no second copy. Pieces of a broken-off
// answer are in the log, as deltas with their own message id, but not in the memory.
//
// Every tool use passes the host. Reading and searching inside the session's folder
// passes the gate pre_tool, where rules can deny and nobody is asked, unless a rule
// leaves it open or somebody wants that gate; everything else passes the gate
// permission. At the gates prompt, stop, subagent_stop and compact it waits if somebody
// wants to decide there. In the permission mode "plan" the agent itself denies what may change
// something, until a plan is approved. Its other permission modes are up to the
// session's policy.
//
// In a conversation that fills much of the model's context, old large results of tools are
// cut. One that no longer fits is compacted: the model summarizes it, and goes on
// with the summary. The log keeps what was said, so that one can go back to before it.
//
// The calls of one answer run concurrently, except that edits run one after the other,
// in order.
//
// Models are named "provider/model", such as "anthropic/claude-sonnet-4-5" or
// "ollama/qwen3-coder"; "demo" is one that needs nothing. Anthropic, OpenAI and Google are
// spoken to in their own dialects, all others in OpenAI's Chat Completions.
// Config.Providers adds any server that speaks one of these. What is known about models,
// such as their prices, is in models.json.
//
// Programs in the user's folder, and in that of a trusted project, add tools, commands and
// hooks: see docs/PLUGINS.md.
//
// Subagents, which the tool Task starts, have a conversation of their own that ends with
// them. Commands in the background end with the agent; when one ends earlier, the agent
// goes on by itself.
package native
