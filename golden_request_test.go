package terret_test

import (
	"time"

	"github.com/terret-dev/terret"
)

// requestExamples shows requests and the decisions that answer them.
func requestExamples() []example {
	input := terret.JSON(`{"command":"git push && echo done > log"}`)
	return []example{
		inTurn(terret.PermissionRequest{
			RequestID: goldenRequest, ToolID: goldenTool, Tool: "Bash", Class: terret.ClassExecute,
			Input: input, InputHash: terret.InputHash(input), Title: "git push && echo done > log",
			Reason: "it changes a remote", Suggestions: []string{"Bash(git push:*)"}, Diff: loopDiff,
		}, expects(terret.GatePermission, terret.BehaviorDeny, 5*time.Minute), source("can_use_tool")),
		inTurn(terret.PermissionDenied{ToolID: goldenTool, Tool: "WebFetch", Reason: "the mode is dontAsk"}),
		inTurn(terret.QuestionRequest{
			RequestID: goldenRequest, ToolID: goldenTool,
			Questions: []terret.Question{{
				ID: "q1", Header: "Branch", Text: "Which branches?", Multi: true,
				Options: []terret.Option{{Label: "main", Description: "what is released"}, {Label: "next", Description: "what comes then"}},
			}},
			Schema: terret.JSON(`{"type":"object","properties":{"q1":{"type":"array"}}}`), URL: "https://example.com/ask",
		}, expects(terret.GateQuestion, terret.BehaviorReject, 0), source("AskUserQuestion")),
		inTurn(terret.PlanRequest{
			RequestID: goldenRequest, ToolID: goldenTool, Plan: "1. Raise i.\n2. Test.", File: "/home/ada/.claude/plans/loop.md",
		}, expects(terret.GatePlan, terret.BehaviorRevise, 0), source("ExitPlanMode")),
		inTurn(terret.StopRequest{
			RequestID: goldenRequest, LastMessage: "The loop ends now.", Again: true, Background: true,
		}, expects(terret.GateStop, terret.BehaviorAllow, 4*time.Second), source("Stop")),

		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GatePermission, Behavior: terret.BehaviorAllow, Scope: terret.ScopeSession,
			Source: terret.ByUser, By: "ada", InputHash: terret.InputHash(input), UpdatedInput: terret.JSON(`{"command":"git push --dry-run"}`),
		}.Data(), by("ada")),
		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GatePermission, Behavior: terret.BehaviorDeny, Scope: terret.ScopeAlways,
			Source: terret.ByRule, Rule: "Bash(git push:*)", Reason: "nobody pushes from here", Interrupt: true,
		}.Data(), variant("denied")),
		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Scope: terret.ScopeOnce,
			Source: terret.ByUser, By: "ada", Answers: map[string]terret.Choice{"q1": {"main", "next"}, "q2": {"as you like"}},
		}.Data(), by("ada")),
		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GatePlan, Behavior: terret.BehaviorApprove, Scope: terret.ScopeOnce,
			Source: terret.ByChannel, By: "phone", NextMode: "acceptEdits",
		}.Data(), by("phone")),
		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GateStop, Behavior: terret.BehaviorBlock, Source: terret.ByPolicy,
			Reason: "The tests do not pass yet.",
		}.Data()),
		inTurn(terret.Decision{
			RequestID: goldenRequest, Gate: terret.GatePreTool, Behavior: terret.BehaviorAsk, Source: terret.ByTimeout,
			Reason: "no rule within 4 s", InputHash: terret.InputHash(input),
		}.Data()),
	}
}
