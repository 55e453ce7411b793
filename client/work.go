package client

import (
	"context"

	"github.com/terret-dev/terret"
)

// Run is a workflow at work.
type Run struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Cwd       string      `json:"cwd"`
	Input     string      `json:"input,omitempty"`
	State     string      `json:"state"` // running, waiting, interrupted, completed, failed, stopped
	Detail    string      `json:"detail,omitempty"`
	Steps     []StepRun   `json:"steps"`
	CostUSD   terret.Cost `json:"cost_usd"`
	CreatedAt terret.Time `json:"created_at"`
}

// StepRun is a step of a run.
type StepRun struct {
	ID       string      `json:"id"`
	Agent    string      `json:"agent"`
	State    string      `json:"state"` // pending, running, completed, skipped, failed
	Attempts int         `json:"attempts"`
	Session  string      `json:"session,omitempty"`
	Output   string      `json:"output,omitempty"`
	Error    string      `json:"error,omitempty"`
	CostUSD  terret.Cost `json:"cost_usd"`
}

// StartWorkflow runs a workflow, which is YAML, in a folder. The server works on it.
func (c *Client) StartWorkflow(ctx context.Context, workflow, cwd, input string) (Run, error) {
	body := map[string]string{"workflow": workflow, "cwd": cwd, "input": input}
	return do[Run](ctx, c, call{method: "POST", path: at("workflows"), body: body})
}

// Workflows lists runs, the newest first.
func (c *Client) Workflows(ctx context.Context) ([]Run, error) {
	return items[Run](ctx, c, call{method: "GET", path: at("workflows")})
}

// Workflow returns a run.
func (c *Client) Workflow(ctx context.Context, id string) (Run, error) {
	return do[Run](ctx, c, call{method: "GET", path: at("workflows", id)})
}

// ResumeWorkflow continues a run that was interrupted, or that waits. If it waits, the
// decision is retry, skip or stop; otherwise it is empty.
func (c *Client) ResumeWorkflow(ctx context.Context, id, decision string) (Run, error) {
	body := map[string]string{}
	if decision != "" {
		body["decision"] = decision
	}
	return do[Run](ctx, c, call{method: "POST", path: at("workflows", id, "resume"), body: body})
}

// Review is what agents say about a change.
type Review struct {
	ID        string        `json:"id"`
	Template  string        `json:"template"`
	Cwd       string        `json:"cwd"`
	State     string        `json:"state"`             // running, interrupted, completed, failed
	Verdict   string        `json:"verdict,omitempty"` // PASS, CONCERNS, FAIL
	Summary   string        `json:"summary,omitempty"`
	Findings  []Finding     `json:"findings"`
	Agents    []AgentReview `json:"agents"`
	Empty     bool          `json:"empty,omitempty"` // there was nothing to review
	Left      []string      `json:"left,omitempty"`  // files that were too large
	CostUSD   terret.Cost   `json:"cost_usd"`
	CreatedAt terret.Time   `json:"created_at"`
	Diff      string        `json:"diff,omitempty"` // what was reviewed
}

// Finding is something that a reviewer found.
type Finding struct {
	Severity   string   `json:"severity"` // info, low, medium, high, critical
	Category   string   `json:"category"`
	File       string   `json:"file,omitempty"`
	Line       int      `json:"line,omitempty"`
	Message    string   `json:"message"`
	Suggestion string   `json:"suggestion,omitempty"`
	Verified   bool     `json:"verified"` // the diff shows that line
	FoundBy    []string `json:"found_by,omitempty"`
}

// AgentReview is what one agent said.
type AgentReview struct {
	Agent    string      `json:"agent"`
	Session  string      `json:"session,omitempty"`
	Verdict  string      `json:"verdict,omitempty"`
	Summary  string      `json:"summary,omitempty"`
	Findings []Finding   `json:"findings,omitempty"`
	Error    string      `json:"error,omitempty"`
	Repairs  int         `json:"repairs,omitempty"`
	CostUSD  terret.Cost `json:"cost_usd"`
}

// NewReview is a review to make. Cwd is required.
type NewReview struct {
	Cwd      string   `json:"cwd"`
	Template string   `json:"template,omitempty"` // code, tasks, plan or security
	Diff     string   `json:"diff,omitempty"`     // a commit or a range
	Agents   []string `json:"agents,omitempty"`
	Model    string   `json:"model,omitempty"`
	Input    string   `json:"input,omitempty"`
}

// StartReview has agents review a change. The server works on it.
func (c *Client) StartReview(ctx context.Context, n NewReview) (Review, error) {
	return do[Review](ctx, c, call{method: "POST", path: at("reviews"), body: n})
}

// Reviews lists reviews, the newest first.
func (c *Client) Reviews(ctx context.Context) ([]Review, error) {
	return items[Review](ctx, c, call{method: "GET", path: at("reviews")})
}

// Review returns a review, with the change that it is about.
func (c *Client) Review(ctx context.Context, id string) (Review, error) {
	return do[Review](ctx, c, call{method: "GET", path: at("reviews", id), query: values("diff", "1")})
}

// ResumeReview continues a review that was interrupted.
func (c *Client) ResumeReview(ctx context.Context, id string) (Review, error) {
	return do[Review](ctx, c, call{method: "POST", path: at("reviews", id, "resume")})
}

// Race is one task for several agents.
type Race struct {
	ID        string      `json:"id"`
	Task      string      `json:"task"`
	Cwd       string      `json:"cwd"`
	Check     string      `json:"check,omitempty"`
	State     string      `json:"state"` // running, interrupted, finished, kept, dropped
	Kept      string      `json:"kept,omitempty"`
	Racers    []Racer     `json:"racers"`
	CreatedAt terret.Time `json:"created_at"`
}

// Racer is one of the agents of a race.
type Racer struct {
	Name        string      `json:"name"`
	Agent       string      `json:"agent"`
	State       string      `json:"state"` // running, finished, failed
	Session     string      `json:"session"`
	Dir         string      `json:"dir,omitempty"`
	Answer      string      `json:"answer,omitempty"`
	Error       string      `json:"error,omitempty"`
	Files       int         `json:"files"`
	Insertions  int         `json:"insertions"`
	Deletions   int         `json:"deletions"`
	Check       string      `json:"check,omitempty"` // passed, failed
	CheckOutput string      `json:"check_output,omitempty"`
	CostUSD     terret.Cost `json:"cost_usd"`
	DurationMS  int64       `json:"duration_ms"`
	Diff        string      `json:"diff,omitempty"`
}

// NewRace is a race to start. Cwd, Task and at least two Agents are required.
type NewRace struct {
	Cwd            string   `json:"cwd"`
	Task           string   `json:"task"`
	Agents         []string `json:"agents"`
	Model          string   `json:"model,omitempty"`
	Check          string   `json:"check,omitempty"`
	PermissionMode string   `json:"permission_mode,omitempty"`
	Tools          []string `json:"tools,omitempty"`
}

// StartRace gives one task to several agents. The server works on it.
func (c *Client) StartRace(ctx context.Context, n NewRace) (Race, error) {
	return do[Race](ctx, c, call{method: "POST", path: at("races"), body: n})
}

// Races lists races, the newest first.
func (c *Client) Races(ctx context.Context) ([]Race, error) {
	return items[Race](ctx, c, call{method: "GET", path: at("races")})
}

// Race returns a race, with the diffs of its agents.
func (c *Client) Race(ctx context.Context, id string) (Race, error) {
	return do[Race](ctx, c, call{method: "GET", path: at("races", id), query: values("diff", "1")})
}

// ResumeRace continues a race that was interrupted.
func (c *Client) ResumeRace(ctx context.Context, id string) (Race, error) {
	return do[Race](ctx, c, call{method: "POST", path: at("races", id, "resume")})
}

// KeepRacer keeps what an agent did, by merge or patch, and drops the rest.
func (c *Client) KeepRacer(ctx context.Context, id, racer, how string) (Race, error) {
	return do[Race](ctx, c, call{method: "POST", path: at("races", id, "keep"), body: map[string]string{"racer": racer, "how": how}})
}

// DropRace drops what all agents did.
func (c *Client) DropRace(ctx context.Context, id string) (Race, error) {
	return do[Race](ctx, c, call{method: "POST", path: at("races", id, "drop")})
}
