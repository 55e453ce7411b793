// What the pictures show: a small server in Go, and what the model says to the real Claude
// Code that works on it.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const files: Record<string, string> = {
  "go.mod": "module example.org/api-server\n\ngo 1.24\n",
  "README.md": "# api-server\n\nThe API of the shop.\n",
  "auth/token.go": `package auth

import "time"

const life = 2 * time.Millisecond

// Token lets somebody in for a while.
type Token struct{ issued time.Time }

func issue(now time.Time) Token { return Token{now} }

func valid(t Token, now time.Time) bool { return now.Sub(t.issued) < life }
`,
  "auth/login_test.go": `package auth

import (
	"testing"
	"time"
)

func TestLogin(t *testing.T) {
	token := issue(time.Now())
	time.Sleep(3 * time.Millisecond)
	if !valid(token, time.Now()) {
		t.Fatal("the token should still be valid")
	}
}
`,
  "agents/AGENT_TESTER.md": `---
description: Finds out why tests fail, and changes as little as it can
tools: [Read, Edit, Write, Bash, Grep, Glob, TaskCreate, TaskUpdate, AskUserQuestion]
---
Reproduce a failure before you change anything. Prefer a clock that the test controls to sleeping.
`,
  "agents/AGENT_REVIEWER.md": `---
description: Reads changes and says what is wrong with them
tools: [Read, Grep, Glob]
---
Look for what breaks in production. Do not comment on style.
`,
};

/** Makes a repository with those files. */
export function furnish(project: string): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  for (const args of [["init", "-q", "-b", "main"], ["add", "."], ["-c", "user.name=dev", "-c", "user.email=dev@example.org", "commit", "-qm", "The API"]]) execFileSync("git", args, { cwd: project });
}

export const prompts = {
  flaky: "The login test is flaky. Find out why.",
  done: "Add a health endpoint, with a test.",
  question: "Store the sessions of users somewhere.",
  failed: "Upgrade to Go 1.27.",
};

const usage = "{input: 8200, output: 900, cache_read: 24000, cache_write: 1200}";

/** Each conversation has its own steps, which its first text tells apart; they work at the same time. */
export const model = `
conversations: first_text
steps:
  - anywhere: true
    match: {first: login test}
    answer:
      thinking: The failure comes and goes, so time or order is involved. I should reproduce it before I change anything.
      text: I'll reproduce it first.
      tools:
        - {name: TaskCreate, input: {subject: Reproduce the failure, description: Run the test many times}}
        - {name: TaskCreate, input: {subject: Replace the wall clock in the test, description: Use times that the test chooses}}
        - {name: TaskCreate, input: {subject: Run the whole suite, description: With an empty cache}}
        - {name: Read, input: {file_path: "{{dir}}/auth/login_test.go"}}
        - {name: Read, input: {file_path: "{{dir}}/auth/token.go"}}
      usage: ${usage}
  - anywhere: true
    match: {first: login test}
    answer:
      tools: [{name: Bash, input: {command: go test -run Login -count 3 ./auth, description: Run the login test three times}}]
      usage: ${usage}
  - anywhere: true
    match: {first: login test}
    answer:
      text: "A token is good for two milliseconds, and the test **sleeps for three** on the wall clock. It passes only where time is coarse:\\n\\n1. \`issue\` and \`valid\` take the time already\\n2. so only the test has to change"
      tools:
        - {name: TaskUpdate, input: {taskId: "1", status: completed}}
        - {name: Edit, input: {file_path: "{{dir}}/auth/login_test.go", old_string: "\\ttoken := issue(time.Now())\\n\\ttime.Sleep(3 * time.Millisecond)\\n\\tif !valid(token, time.Now()) {", new_string: "\\tnow := time.Now()\\n\\ttoken := issue(now)\\n\\tif !valid(token, now.Add(life-1)) {"}}
        - {name: TaskUpdate, input: {taskId: "2", status: completed}}
        - {name: TaskUpdate, input: {taskId: "3", status: in_progress}}
      usage: ${usage}
  - anywhere: true
    match: {first: login test}
    answer:
      text: Now everything, with an empty cache.
      tools: [{name: Bash, input: {command: "rm -rf .cache && go test ./...", description: Run the whole suite}}]
      usage: ${usage}

  - anywhere: true
    match: {first: health endpoint}
    answer:
      text: I'll add \`/healthz\` beside the other routes.
      tools:
        - {name: Write, input: {file_path: "{{dir}}/health/health.go", content: "// Package health says whether the server is well.\\npackage health\\n\\nimport \\"net/http\\"\\n\\n// Handler answers 200 while the server is up.\\nfunc Handler(w http.ResponseWriter, _ *http.Request) {\\n\\tw.WriteHeader(http.StatusOK)\\n}\\n"}}
        - {name: Write, input: {file_path: "{{dir}}/health/health_test.go", content: "package health\\n\\nimport (\\n\\t\\"net/http/httptest\\"\\n\\t\\"testing\\"\\n)\\n\\nfunc TestHandler(t *testing.T) {\\n\\tw := httptest.NewRecorder()\\n\\tHandler(w, nil)\\n\\tif w.Code != 200 {\\n\\t\\tt.Error(w.Code)\\n\\t}\\n}\\n"}}
      usage: ${usage}
  - anywhere: true
    match: {first: health endpoint}
    answer:
      tools: [{name: Bash, input: {command: go test ./health, description: Test the new package}}]
      usage: ${usage}
  - anywhere: true
    match: {first: health endpoint}
    answer: {text: "\`/healthz\` answers **200** while the server is up, and its test passes.", usage: ${usage}}

  - anywhere: true
    match: {first: sessions of users}
    answer:
      text: Both would do, so I'd rather ask.
      tools:
        - name: AskUserQuestion
          input:
            questions:
              - question: Where should sessions be kept?
                header: Storage
                multiSelect: false
                options: [{label: Redis, description: Fast; another service to run}, {label: PostgreSQL, description: Already there; a query for each request}]
      usage: ${usage}

  - anywhere: true
    match: {first: Go 1.27}
    repeat: forever
    answer: {error: {status: 400, type: invalid_request_error, message: Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.}}
`;
