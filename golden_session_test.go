package terret_test

import (
	"time"

	"github.com/terret-dev/terret"
)

// sessionExamples shows the life of a session and its processes.
func sessionExamples() []example {
	commands := []terret.Command{
		{Name: "compact", Description: "Free context by summing up the conversation", Hint: "[instructions]"},
	}
	return []example{
		inSession(terret.SessionStart{
			Source: "resume", Agent: "claude", AgentVersion: "2.1.76", NativeID: goldenSession,
			Model: "claude-sonnet-4-5", Tools: []string{"Bash", "Edit", "Read"}, Commands: commands,
			Cwd: "/home/ada/engine", PermissionMode: "default",
			MCPServers: []terret.MCPServer{
				{Name: "linear", Status: "connected"},
				{Name: "github", Status: "failed", Error: "connection refused"},
			},
		}, source("system/init")),
		inSession(terret.SessionNativeID{
			Old: "8f14e45f-ceea-467f-a8f1-1d0c2f7b6a55", New: "c9f0f895-fb98-4b91-99f5-1fd0297e236d",
			Reason: "stale", Error: "No conversation found with session ID: 8f14e45f-ceea-467f-a8f1-1d0c2f7b6a55",
		}),
		inSession(terret.SessionNativeID{New: "c9f0f895-fb98-4b91-99f5-1fd0297e236d", Reason: "start"}, variant("first")),
		inSession(terret.SessionResumed{Epoch: 3}),
		inSession(terret.SessionStateChange{State: terret.SessionWaiting, Detail: "1 request is open"}),
		inSession(terret.SessionUpdated{
			Title: new("Fix the <main> loop & tests"), Model: new("claude-opus-4-5"), Policy: new(terret.PolicyAcceptEdits),
			PermissionMode: new("acceptEdits"), Mode: new(terret.ModeWorkbench), Persona: new("reviewer"), HandedTo: new("0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9f"),
		}, by("ada")),
		inSession(terret.SessionCommands{Commands: commands}),
		inSession(terret.SessionAuth{
			Status: "in_progress", Method: "browser", Message: "Open the page and sign in.",
			Output: []string{"https://claude.ai/oauth/authorize?code=true&state=1"},
		}),
		inSession(terret.QueueChange{
			Change: terret.QueueHeld, Reason: "stopped by ada", Count: 1,
			Queue: []terret.QueuedPrompt{{Turn: goldenTurn, Text: "Then update the docs.", By: "ada", Held: true}},
		}, by("ada")),
		inSession(terret.QueueChange{
			Change: terret.QueueAdded, Turn: goldenTurn, Count: 1, Queue: []terret.QueuedPrompt{{Turn: goldenTurn, Text: "Then update the docs.", By: "ada"}},
		}, by("ada"), variant("queued")),
		inSession(terret.SessionEnd{Reason: "agent_exit", NativeReason: "prompt_input_exit"}, source("SessionEnd")),
		inSession(terret.ProcessSpawn{
			Argv: []string{"claude", "--print", "--output-format", "stream-json", "--api-key", "[redacted]"}, PID: 4711,
		}),
		inSession(terret.ProcessExit{Code: new(1), DurationMS: 61250}),
		inSession(terret.ProcessExit{Signal: "SIGKILL", DurationMS: 5003}, variant("signal")),
		inSession(terret.CheckpointCreated{
			CheckpointID: goldenCheckpoint, MessageID: goldenMessage, OfTurn: goldenTurn, Phase: "after",
			Changed: true, Snapshot: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		}),
		inSession(terret.CheckpointRewound{
			CheckpointID: goldenCheckpoint, MessageID: goldenMessage, Files: []string{"loop.go", "loop_test.go"},
			Insertions: 12, Deletions: 30, Direction: "undo", Turns: []string{goldenTurn},
			Conversation: true, Note: "files were left unchanged: undo is off", Copy: "20260314-150926.535-pkzrpi",
		}, by("ada")),
	}
}

// otherExamples shows the rest: usage, hooks, the bus, diagnostics.
func otherExamples() []example {
	return []example{
		inTurn(terret.UsageUpdate{
			Usage: terret.Usage{
				Input: 1200, Output: 340, CacheRead: 50000, CacheWrite: 800, Reasoning: 90,
			},
			CostUSD: 31_415_926, ContextUsed: 52340, ContextMax: 200000,
		}),
		inTurn(terret.RateLimit{ResetsAt: new(terret.TimeOf(goldenTime.Add(5 * time.Hour))), Kind: "five_hour"}, source("rate_limit_event")),
		inTurn(terret.Retry{Attempt: 2, Max: 10, DelayMS: 1100, HTTPStatus: 529, Error: "overloaded_error"}),
		inTurn(terret.ModelFallback{From: "claude-opus-4-5", To: "claude-sonnet-4-5", Why: "overloaded"}),
		inTurn(terret.FileChanged{Path: "loop.go", Change: "modified", ToolID: goldenTool}),
		inTurn(terret.CompactPre{Trigger: "manual", Instructions: "Keep the open questions."}, source("PreCompact")),
		inTurn(terret.CompactPost{TokensBefore: 168000, TokensAfter: 21000, Summary: "We are fixing the main loop."}),
		inTurn(terret.HookEvent{
			Hook: "InstructionsLoaded", Data: terret.JSON(`{"file_path":"CLAUDE.md","memory_type":"Project"}`),
		}, source("InstructionsLoaded")),
		inTurn(terret.HookResponse{Hook: "InstructionsLoaded", Outcome: "success"}),
		inSession(terret.Notification{
			Text: "Claude is waiting for your input", Level: "info", Type: "idle_prompt", Title: "Claude Code",
		}, source("Notification")),
		inSession(terret.BusMessage{
			MessageID: goldenMessage, From: "planner", To: []string{"coder", "tester"}, Type: "chat",
			Text: "The loop is fixed; please test it.", InReplyTo: goldenParent, Metadata: map[string]string{"topic": "loop"},
		}),
		inSession(terret.BusReceipt{MessageID: goldenMessage, By: "tester", Status: "failed", Detail: "overloaded", CostUSD: 12_000_000}),
		inSession(terret.AgentStateChange{Name: "tester", State: terret.AgentRestarting, Detail: "attempt 2 of 5", Config: terret.JSON(`{"name":"tester","agent_type":"sdk"}`)}),
		inSession(terret.DiagStderr{Text: "warning: config file not found"}),
		inSession(terret.DiagParseError{Text: `{"type":"assist`}),
		inSession(terret.DiagWarning{Text: "claude 9.9.9 is newer than what was tested"}),
		inTurn(terret.Unknown{NativeType: "tool_use_summary"},
			source("tool_use_summary"), raw(`{"type":"tool_use_summary","summary":"Read 3 files"}`)),
	}
}
