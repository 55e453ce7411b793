package drivertest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/drivertest"
	nativedriver "github.com/terret-dev/terret/driver/native"
)

// native is Terret's own agent, on the scripted model.
func native() drivertest.Target {
	return drivertest.Target{
		Name: nativedriver.Name, Version: "built in", Model: "anthropic/claude-test", Other: "anthropic/claude-other",
		Wire: func(name string) string { return strings.TrimPrefix(name, "anthropic/") },
		Driver: func(p drivertest.Place) terret.Driver {
			env := map[string]string{"ANTHROPIC_API_KEY": p.Key, "ANTHROPIC_BASE_URL": p.URL}
			return nativedriver.New(nativedriver.Config{
				Getenv:  func(name string) string { return env[name] },
				Backoff: func(int, time.Duration) time.Duration { return 0 },
				Prices:  "testdata/prices.json",
				UserDir: p.Home,
			})
		},
		Env:      func(p drivertest.Place) []string { return []string{"ANTHROPIC_API_KEY=" + p.Key} },
		PlanMode: "plan",
		Command: func(p drivertest.Place, name, text string) error {
			dir := filepath.Join(p.Home, "commands")
			return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600))
		},
		Tools: drivertest.Tools{
			Shell: func(command string) drivertest.Call {
				return drivertest.Call{Name: "Bash", Input: map[string]any{"command": command}}
			},
			Background: func(command string) drivertest.Call {
				return drivertest.Call{Name: "Bash", Input: map[string]any{"command": command, "run_in_background": true}}
			},
			Write: func(path, content string) drivertest.Call {
				return drivertest.Call{Name: "Write", Input: map[string]any{"file_path": path, "content": content}}
			},
			Edit: func(path, old, replacement string) drivertest.Call {
				return drivertest.Call{Name: "Edit", Input: map[string]any{"file_path": path, "old_string": old, "new_string": replacement}}
			},
			Read: func(path string) drivertest.Call {
				return drivertest.Call{Name: "Read", Input: map[string]any{"file_path": path}}
			},
			Ask: func(question string, options ...string) drivertest.Call {
				var labels []map[string]any
				for _, o := range options {
					labels = append(labels, map[string]any{"label": o})
				}
				return drivertest.Call{Name: "Ask", Input: map[string]any{"question": question, "options": labels}}
			},
			Plan: func(plan string) drivertest.Call {
				return drivertest.Call{Name: "Plan", Input: map[string]any{"plan": plan}}
			},
			MCP: func(server, name string, input map[string]any) drivertest.Call {
				return drivertest.Call{Name: "mcp__" + server + "__" + name, Input: input}
			},
			Subagent: func(prompt string) drivertest.Call {
				return drivertest.Call{Name: "Task", Input: map[string]any{"description": "look", "prompt": prompt}}
			},
			Structured: func(value map[string]any) drivertest.Call {
				return drivertest.Call{Name: "StructuredOutput", Input: value}
			},
		},
	}
}

// nativeChat is the same with a model of an API that speaks OpenAI's Chat Completions.
func nativeChat() drivertest.Target {
	t := native()
	t.Title, t.Model, t.Other = "native, OpenAI's API", "openai/gpt-test", "openai/gpt-other"
	t.Wire = func(name string) string { return strings.TrimPrefix(name, "openai/") }
	t.Driver = func(p drivertest.Place) terret.Driver {
		env := map[string]string{"OPENAI_API_KEY": p.Key, "OPENAI_BASE_URL": p.URL + "/v1"}
		return nativedriver.New(nativedriver.Config{
			Getenv:  func(name string) string { return env[name] },
			Backoff: func(int, time.Duration) time.Duration { return 0 },
			Prices:  "testdata/prices.json",
			UserDir: p.Home,
		})
	}
	t.Env = func(p drivertest.Place) []string { return []string{"OPENAI_API_KEY=" + p.Key} }
	return t
}

// nativeBy is the same with an API that is configured.
func nativeBy(title, api, base string) drivertest.Target {
	t := native()
	t.Title, t.Model, t.Other = title, "lab/model-test", "lab/model-other"
	t.Wire = func(name string) string { return strings.TrimPrefix(name, "lab/") }
	t.Driver = func(p drivertest.Place) terret.Driver {
		return nativedriver.New(nativedriver.Config{
			Getenv:    func(name string) string { return map[string]string{"OPENAI_API_KEY": p.Key}[name] },
			Providers: map[string]nativedriver.Provider{"lab": {BaseURL: p.URL + base, KeyEnv: "OPENAI_API_KEY", API: api}},
			Backoff:   func(int, time.Duration) time.Duration { return 0 },
			Prices:    "testdata/prices.json",
			UserDir:   p.Home,
		})
	}
	t.Env = func(p drivertest.Place) []string { return []string{"OPENAI_API_KEY=" + p.Key} }
	return t
}

func nativeResponses() drivertest.Target {
	return nativeBy("native, Responses", "responses", "/v1")
}

func nativeGemini() drivertest.Target { return nativeBy("native, Gemini's API", "gemini", "") }

func TestNativeResponses(t *testing.T) { run(t, nativeResponses()) }

func TestNativeGemini(t *testing.T) { run(t, nativeGemini()) }

func TestNative(t *testing.T) { run(t, native()) }

func TestNativeChat(t *testing.T) { run(t, nativeChat()) }
