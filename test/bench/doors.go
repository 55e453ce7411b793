package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret/driver/claude"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

func doorsSection() section {
	return section{
		name: "Doors",
		intro: "The same turn of Claude Code, each in a session of its own on one `terret serve`, through `/v1`, through `terret acp` and through " +
			"`/uhp`, in alternation. A hook is called as Claude Code calls it; beside it an empty program's start, which is most of it.",
		run: func(ctx context.Context, dir string) ([]row, error) { return serverSteps(ctx, dir, benchDoors) },
	}
}

const (
	doorTurns = 40
	hookCalls = 30
)

func benchDoors(ctx context.Context, bin, home string) (rows []row, err error) {
	b := claudeBench{program: claudeProgram()}
	if b.program == "" {
		return []row{{"Claude Code", "not installed: run `make conformance` first", ""}}, nil
	}
	s, model, err := b.serve(ctx, bin, home)
	if err != nil {
		return nil, err
	}
	defer model.close()
	defer func() { err = errors.Join(err, s.stop()) }()
	plain, err := s.client(ctx, claude.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plain.stream.Close()) }()
	editor, err := acpByHand([]string{"acp", "--agent", claude.Name})(ctx, agenttest.Place{Program: bin, Dir: s.work, Env: append(clean(home), b.env...)})
	if err != nil {
		return nil, err
	}
	defer editor.close()
	task, err := s.harness(ctx)
	if err != nil {
		return nil, err
	}
	all, err := alternate(doorTurns, func() (took, error) { return plain.turn(ctx) }, timedTurn(ctx, editor.turn), timedTurn(ctx, task))
	if err != nil {
		return nil, err
	}
	hook, err := benchHook(ctx, bin, home, s.work)
	if err != nil {
		return nil, err
	}
	v1 := medianOf(all[0], endOf)
	return []row{
		{fmt.Sprintf("a warm turn through `terret acp`, median of %d", doorTurns), against(medianOf(all[1], endOf), "through `/v1`", v1), ""},
		{"a warm turn through `/uhp`, as a stream", against(medianOf(all[2], endOf), "through `/v1`", v1), ""},
		hook,
	}, nil
}

func against(own time.Duration, what string, other time.Duration) string {
	return fmt.Sprintf("%.1f ms; %s %.1f ms: ratio %.2f", ms(own), what, ms(other), float64(own)/float64(other))
}

func timedTurn(ctx context.Context, turn func(context.Context) error) func() (took, error) {
	return func() (took, error) {
		began := time.Now()
		err := turn(ctx)
		return took{end: time.Since(began)}, err
	}
}

// harness makes a harness of Claude Code, and returns what runs a task in one session of it.
func (s *server) harness(ctx context.Context) (func(context.Context) error, error) {
	var made struct {
		ID string `json:"id"`
	}
	if err := s.do(ctx, http.MethodPost, "/uhp/v1/harnesses", map[string]any{"name": "bench", "base": claude.Name}, &made); err != nil {
		return nil, err
	}
	last := ""
	return func(ctx context.Context) error {
		task := map[string]any{"input": "hello", "stream": true, "metadata": map[string]string{"harness_id": made.ID}}
		if last != "" {
			task["previous_response_id"] = last
		}
		r, err := s.request(ctx, http.MethodPost, "/uhp/v1/responses", task)
		if err != nil {
			return err
		}
		id, err := s.lastResponse(r)
		if err == nil {
			last = id
		}
		return err
	}, nil
}

// lastResponse reads the stream of a task to its end, and returns the task's id.
func (s *server) lastResponse(r *http.Request) (id string, err error) {
	stream, err := s.events(r)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	var end struct {
		Type     string `json:"type"`
		Response struct {
			ID string `json:"id"`
		} `json:"response"`
	}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: {")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte("{"+data), &end); err != nil {
			return "", err
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	if end.Type != "response.completed" {
		return "", fmt.Errorf("the task ended with %q", end.Type)
	}
	return end.Response.ID, nil
}

// benchHook calls a hook that no answer is waited for, and an empty command, by turns.
func benchHook(ctx context.Context, bin, home, work string) (row, error) {
	payload, err := json.Marshal(map[string]any{
		"session_id": "bench", "cwd": work, "hook_event_name": "PostToolUse", "transcript_path": filepath.Join(home, "none.jsonl"),
		"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": map[string]string{"command": "true"}, "tool_response": map[string]string{"stdout": ""},
	})
	if err != nil {
		return row{}, err
	}
	run := func(in string, args ...string) func() (took, error) {
		return func() (took, error) {
			cmd := exec.CommandContext(ctx, bin, args...)
			cmd.Env, cmd.Stdin = clean(home), strings.NewReader(in)
			began := time.Now()
			err := cmd.Run()
			return took{end: time.Since(began)}, err
		}
	}
	all, err := alternate(hookCalls, run(string(payload), "hook", "PostToolUse"), run("", "version"))
	if err != nil {
		return row{}, err
	}
	return row{
		fmt.Sprintf("`terret hook` with an event, median of %d", hookCalls),
		against(medianOf(all[0], endOf), "`terret version`", medianOf(all[1], endOf)), "",
	}, nil
}
