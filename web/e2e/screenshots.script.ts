// What the mock agent does in the pictures: the story of a flaky test.

const diff = `--- a/auth/login_test.go
+++ b/auth/login_test.go
@@ -11,9 +11,10 @@ import (
 
 func TestLogin(t *testing.T) {
-	token := issue(time.Now())
-	time.Sleep(3 * time.Millisecond)
-	if !valid(token, time.Now()) {
+	clock := newClock(t)
+	token := issue(clock.Now())
+	clock.Advance(3 * time.Millisecond)
+	if !valid(token, clock.Now()) {
 		t.Fatal("the token should still be valid")
 	}
 }
`;

const output = "\u001b[1m=== RUN   TestLogin\u001b[0m\n\u001b[31m--- FAIL: TestLogin\u001b[0m (0.00s)\n    login_test.go:15: the token should still be valid\n    clock skew 3 ms\n\u001b[31mFAIL\u001b[0m	auth	0.412s\n";

const tool = (id: string, name: string, cls: string, input: unknown, more: object, result: object) => [
  { event: { kind: "tool.pre", data: { tool_id: id, name, class: cls, input, ...more } } },
  { event: { kind: "tool.post", data: { tool_id: id, name, content: [], duration_ms: 120, ...result } } },
];

export const script = {
  turns: [[
    { event: { kind: "plan.update", data: { entries: [
      { text: "Reproduce the failure", status: "completed" },
      { text: "Replace the wall clock in the test", status: "completed" },
      { text: "Run the whole suite", status: "in_progress" },
    ] } } },
    { think: "The failure comes and goes, so time or order is involved. I should run it many times before I change anything." },
    { text: "I'll reproduce it first." },
    ...tool("r1", "Read", "read", { file_path: "auth/login_test.go" }, {}, { content: [{ type: "text", text: "package auth" }] }),
    ...tool("r2", "Read", "read", { file_path: "auth/token.go" }, {}, { content: [{ type: "text", text: "package auth" }] }),
    ...tool("b1", "Bash", "execute", { command: "go test -run Login -count 50 ./auth" }, {}, { content: [{ type: "text", text: output }], duration_ms: 8200 }),
    { text: "It fails in about **one run of twelve**: the test reads the wall clock twice, and the token expires between the two. A clock that the test controls fixes it:\n\n1. `issue` and `valid` take the time already\n2. so only the test has to change" },
    ...tool("e1", "Edit", "edit", { file_path: "auth/login_test.go" }, { diff }, { diff, content: [{ type: "text", text: "Edited auth/login_test.go" }] }),
    { usage: { input: 8200, output: 1900, cache_read: 24_000, cache_write: 0, reasoning: 300, cost_usd: 0.31, context_used: 68_000, context_max: 200_000 } },
    { tool: { name: "Bash", class: "execute", input: { command: "rm -rf .cache && go test ./..." }, ask: true, result: "ok", suggest: ["Bash(go test *)"] } },
  ]],
};
