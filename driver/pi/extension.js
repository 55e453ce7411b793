// Terret's part in Pi: each tool call waits here for a decision. Terret loads this file
// into the Pi processes that it starts (pi --mode rpc -e FILE). What it says goes out as a
// status named "terret", what it asks as an input dialog of that title; see extension.go.
const own = "terret";
const structured = "StructuredOutput";

export default function (pi) {
  let base = []; // the tools that Pi starts with
  let turn = {}; // what is in force for the turn

  const say = (ctx, what) => ctx.ui.setStatus(own, JSON.stringify(what));

  // ask returns the answer, or undefined if there is none: the turn was aborted, or
  // nobody understands us.
  const ask = async (ctx, what, signal) => {
    const answer = await ctx.ui.input(own, JSON.stringify(what), { signal });
    try {
      return JSON.parse(answer);
    } catch {
      return undefined;
    }
  };

  // What was allowed is what runs: other extensions may not change it any more.
  const freeze = (value) => {
    if (value && typeof value === "object") {
      Object.values(value).forEach(freeze);
      Object.freeze(value);
    }
  };

  pi.on("session_start", async (event, ctx) => {
    base = pi.getActiveTools();
    let version = "";
    try {
      version = (await import("@mariozechner/pi-coding-agent")).VERSION;
    } catch {
      // the driver does without
    }
    say(ctx, { hello: 1, cwd: ctx.cwd, tools: base, version });
  });

  pi.on("tool_call", async (event, ctx) => {
    const answer = await ask(ctx, { gate: "tool", id: event.toolCallId, tool: event.toolName, input: event.input }, ctx.signal);
    if (answer?.allow !== true) {
      return { block: true, reason: answer?.reason || "it was not allowed" };
    }
    if (answer.input) {
      for (const key of Object.keys(event.input)) delete event.input[key];
      Object.assign(event.input, answer.input);
    }
    freeze(event.input);
  });

  pi.on("session_before_compact", async (event, ctx) => {
    const answer = await ask(ctx, { gate: "compact", instructions: event.customInstructions }, event.signal);
    return answer?.allow === true ? undefined : { cancel: true };
  });

  pi.on("before_agent_start", (event) => (turn.system ? { systemPrompt: event.systemPrompt + "\n\n" + turn.system } : undefined));

  const ops = {
    // turn sets what the next prompt is run with, and marks where it is in the session.
    turn(op) {
      turn = op;
      if (op.schema) {
        pi.registerTool({
          name: structured,
          label: "Structured output",
          description: "Give the final answer in the form that was asked for. Call it once, at the end, instead of answering in text.",
          parameters: op.schema,
          async execute(id, params, signal, onUpdate, ctx) {
            say(ctx, { structured: params });
            return { content: [{ type: "text", text: "Taken." }], details: {}, terminate: true };
          },
        });
      }
      const all = pi.getAllTools().map((t) => t.name).filter((name) => name !== structured);
      const wanted = (op.tools ?? base).filter((name) => all.includes(name) && !op.removed?.includes(name));
      pi.setActiveTools(op.schema ? [...wanted, structured] : wanted);
      if (op.message) pi.appendEntry(own, { message: op.message });
    },

    // go moves to an entry, or to that of a message: to before a prompt, or through its
    // whole turn. A session begins where its last entry is, so there must be one.
    async go(op, ctx) {
      const branch = ctx.sessionManager.getBranch();
      const mark = (e) => e.type === "custom" && e.customType === own && e.data?.message;
      const id = (e) => e.type === "message" && e.message.role + (e.message.toolCallId ?? e.message.timestamp);
      let at = branch.findLastIndex((e) => mark(e) === op.message || id(e) === op.message);
      if (at >= 0 && op.through && mark(branch[at])) {
        const next = branch.findIndex((e, i) => i > at && mark(e));
        at = (next < 0 ? branch.length : next) - 1;
      }
      const found = op.entry ?? branch[at]?.id;
      if (!found) return { missing: true };
      const leaf = ctx.sessionManager.getLeafId();
      const { cancelled } = await ctx.navigateTree(found, { summarize: false });
      if (cancelled) throw new Error("an extension does not let it");
      pi.appendEntry(own, { from: leaf });
      return { leaf };
    },
  };

  pi.registerCommand(own, {
    description: "for Terret alone",
    handler: async (args, ctx) => {
      const op = JSON.parse(args);
      let result;
      try {
        result = { ...(await ops[op.op](op, ctx)) };
      } catch (err) {
        result = { error: String(err?.message ?? err) };
      }
      say(ctx, { re: op.re, ...result });
    },
  });
}
