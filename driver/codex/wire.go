package codex

import (
	"encoding/json"
)

// The messages of the app server, with the fields that we use. All others are ignored:
// a newer version may say more, or less.
type (
	// note is a notification. Each method sets what it has.
	note struct {
		ThreadID   string          `json:"threadId"`
		TurnID     string          `json:"turnId"`
		ItemID     string          `json:"itemId"`
		Delta      string          `json:"delta"`
		Message    string          `json:"message"`
		Summary    json.RawMessage `json:"summary"`
		Index      int             `json:"summaryIndex"`
		Item       item            `json:"item"`
		Turn       turnInfo        `json:"turn"`
		Plan       []planStep      `json:"plan"`
		TokenUsage tokenUsage      `json:"tokenUsage"`
		Error      *turnFailure    `json:"error"`
		WillRetry  bool            `json:"willRetry"`
		Run        hookRun         `json:"run"`
		FromModel  string          `json:"fromModel"`
		ToModel    string          `json:"toModel"`
		Reason     json.RawMessage `json:"reason"`
	}
	turnInfo struct {
		ID         string       `json:"id"`
		Root       string       `json:"rootTurnId"` // that it is a part of, if it is not itself
		Status     string       `json:"status"`     // completed, interrupted, failed
		Error      *turnFailure `json:"error"`
		DurationMS int64        `json:"durationMs"`
		Items      []item       `json:"items"`
	}
	turnFailure struct {
		Message string          `json:"message"`
		Details string          `json:"additionalDetails"`
		Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object with one
	}
	planStep struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	}
	tokenUsage struct {
		Total  tokens `json:"total"`
		Last   tokens `json:"last"`
		Window int64  `json:"modelContextWindow"`
	}
	tokens struct {
		Input      int64 `json:"inputTokens"`
		CacheRead  int64 `json:"cachedInputTokens"`
		CacheWrite int64 `json:"cacheWriteInputTokens"`
		Output     int64 `json:"outputTokens"`
		Reasoning  int64 `json:"reasoningOutputTokens"`
		Total      int64 `json:"totalTokens"`
	}
	hookRun struct {
		ID        string `json:"id"`
		EventName string `json:"eventName"`
		Source    string `json:"source"`
	}
	// item is a piece of a turn. Each type sets what it has.
	item struct {
		Type     string          `json:"type"`
		ID       string          `json:"id"`
		ClientID string          `json:"clientId"`
		Text     string          `json:"text"`
		Content  json.RawMessage `json:"content"`
		Summary  []string        `json:"summary"`
		Status   string          `json:"status"` // inProgress, completed, failed, declined
		// Commands.
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
		Output  string `json:"aggregatedOutput"`
		Exit    *int   `json:"exitCode"`
		// Patches.
		Changes []fileChange `json:"changes"`
		// Other tools.
		Server       string          `json:"server"`
		Tool         string          `json:"tool"`
		Arguments    json.RawMessage `json:"arguments"`
		Result       json.RawMessage `json:"result"`
		Error        json.RawMessage `json:"error"`
		ContentItems json.RawMessage `json:"contentItems"`
		Success      *bool           `json:"success"`
		Path         string          `json:"path"`
		Query        string          `json:"query"`
		Prompt       string          `json:"prompt"`
		Receivers    []string        `json:"receiverThreadIds"`
		DurationMS   int64           `json:"durationMs"`
	}
	fileChange struct {
		Path string     `json:"path"`
		Kind changeKind `json:"kind"`
		Diff string     `json:"diff"` // of a new or removed file, its content
	}
	changeKind struct {
		Type     string `json:"type"` // add, delete, update
		MovePath string `json:"move_path,omitempty"`
	}
)

// The parameters of our own calls.
type (
	object = map[string]any

	// threadAnswer answers thread/start, thread/resume and thread/fork.
	threadAnswer struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Model string `json:"model"`
		Cwd   string `json:"cwd"`
	}
	turnAnswer struct {
		Turn turnInfo `json:"turn"`
	}
)

// diagLimit is how many characters of a line that cannot be read are kept.
const diagLimit = 500
