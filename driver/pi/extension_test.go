package pi

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patienceWithNode bounds a script that would otherwise hang.
const patienceWithNode = time.Minute

// gateScript loads the extension into a Pi of a few lines, and prints what becomes of a
// tool call for each answer that its question gets.
const gateScript = `
const load = (await import(process.argv[1])).default;
const on = {};
load({ on: (name, handler) => { on[name] = handler; }, registerCommand() {}, getActiveTools: () => [] });
for (const answer of [undefined, "", "yes", "null", "7", '{"allow":"true"}', '{"allow":false,"reason":"no"}', '{"allow":true}', '{"allow":true,"input":{"command":"ls"}}']) {
  const event = { toolCallId: "c", toolName: "bash", input: { command: "rm", list: [1] } };
  const result = await on.tool_call(event, { ui: { input: async () => answer } });
  console.log(JSON.stringify([result ?? "runs", event.input, Object.isFrozen(event.input)]));
}
let thrown = "";
await Promise.resolve(on.tool_call({ input: {} }, { ui: { input: async () => { throw new Error("gone"); } } })).catch((err) => { thrown = err.message; });
console.log(thrown); // Pi blocks a call whose handler throws
`

// TestExtensionFailsClosed holds that a call runs only if it is allowed in so many words,
// and that nobody changes it after that.
func TestExtensionFailsClosed(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Node.js is missing")
		}
		t.Skip("Node.js is missing: Pi's extension is not tested")
	}
	path := filepath.Join(t.TempDir(), "terret.mjs")
	if err := os.WriteFile(path, extensionSource, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patienceWithNode)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "-e", gateScript, path)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &complaints)
	}
	const blocked = `[{"block":true,"reason":"it was not allowed"},{"command":"rm","list":[1]},false]` + "\n"
	want := blocked + blocked + blocked + blocked + blocked + blocked +
		`[{"block":true,"reason":"no"},{"command":"rm","list":[1]},false]` + "\n" +
		`["runs",{"command":"rm","list":[1]},true]` + "\n" +
		`["runs",{"command":"ls"},true]` + "\n" + "gone\n"
	if got := out.String(); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}
