package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config is everything that can be configured. Its field tags: json is the key; env the
// variable that sets it; jsonschema explains it to people; class says whether it takes
// effect in an untrusted project; check names the check for its values (and keys, if it
// is a map; signed means that a number may be negative); merge:"add" combines the values of all layers.
type Config struct {
	Agent          string              `json:"agent,omitzero" env:"TERRET_AGENT" check:"name" class:"grants" jsonschema:"The agent to use when none is named, such as claude. Empty: the first one that is installed and signed in."`
	Model          string              `json:"model,omitzero" env:"TERRET_MODEL" check:"text" class:"grants" jsonschema:"The model to use when none is named. Empty: the agent's own choice."`
	Policy         string              `json:"policy,omitzero" env:"TERRET_POLICY" check:"policy" class:"grants" jsonschema:"What happens to a tool use that no rule decides. Empty: what the command does by default."`
	Sandbox        string              `json:"sandbox,omitzero" env:"TERRET_SANDBOX" check:"sandbox" class:"grants" jsonschema:"What commands of the native agent may change, without network: workspace-write (the session's folders and the one for temporary files) or read-only. Linux only. Default off."`
	Record         bool                `json:"record,omitzero" env:"TERRET_RECORD" class:"grants" jsonschema:"Keep what models of the native agent are asked and answer in files of the data folder for terret replay."`
	ProductName    string              `json:"product_name,omitzero" env:"TERRET_PRODUCT_NAME" check:"text" class:"grants" jsonschema:"What agents call the product in place of Terret."`
	Data           string              `json:"data,omitzero" env:"TERRET_HOME" check:"path" class:"grants" jsonschema:"The folder of the database, the token and the sockets. A relative path is taken from the folder of the file, or of the project; ~/ is the home folder."`
	Store          string              `json:"store,omitzero" env:"TERRET_STORE" check:"store" class:"grants" jsonschema:"The PostgreSQL database of a fleet, such as postgres://user@host/database. Its password may also be in PGPASSWORD or ~/.pgpass. Empty: a file in the data folder."`
	Node           string              `json:"node,omitzero" env:"TERRET_NODE" check:"name" class:"grants" jsonschema:"The name of this machine in a fleet. Empty: its host name."`
	IdleAfter      Duration            `json:"idle_after,omitzero" env:"TERRET_IDLE_AFTER" class:"grants" jsonschema:"How long an agent with nothing to do is kept before its process is ended, or never. Default 30m."`
	SilentAfter    Duration            `json:"silent_after,omitzero" env:"TERRET_SILENT_AFTER" class:"grants" jsonschema:"How long an agent may say and ask nothing in a turn before it is stopped, or never. Default 2h."`
	InterruptGrace Duration            `json:"interrupt_grace,omitzero" env:"TERRET_INTERRUPT_GRACE" check:"bounded" class:"grants" jsonschema:"How long an interrupted turn may take to stop before it is killed. Default 10s."`
	Timeouts       map[string]Duration `json:"timeouts,omitzero" check:"gate" class:"grants" jsonschema:"How long requests wait for a decision, by gate; never means no limit. Default: 10m for hooks, no limit for permissions, questions and plans."`
	Unattended     bool                `json:"unattended,omitzero" env:"TERRET_UNATTENDED" class:"grants" jsonschema:"Nobody can be asked: refuse at once what would be asked."`
	Undo           Undo                `json:"undo,omitzero" class:"inside" jsonschema:"Limits of undo."`
	Pool           Pool                `json:"pool,omitzero" class:"inside" jsonschema:"Agents to start before they are needed."`
	Team           Team                `json:"team,omitzero" class:"inside" jsonschema:"Limits of conversations between agents."`
	Nesting        Nesting             `json:"nesting,omitzero" class:"inside" jsonschema:"Limits of sessions that agents start."`
	Worktree       Worktree            `json:"worktree,omitzero" class:"inside" jsonschema:"How to prepare the worktrees of sessions and races."`
	LogLevel       string              `json:"log_level,omitzero" env:"TERRET_LOG_LEVEL" check:"level" class:"grants" jsonschema:"The lowest level of messages in Terret's own log, terret.log in the data folder. Default info."`
	KeepDeltas     Duration            `json:"keep_deltas,omitzero" env:"TERRET_KEEP_DELTAS" class:"grants" jsonschema:"How long to keep the pieces of streamed text; never drops none. The server drops older ones in the background; whole messages are always kept. Default 24h."`
	KeepSessions   Duration            `json:"keep_sessions,omitzero" env:"TERRET_KEEP_SESSIONS" class:"grants" jsonschema:"How long to keep sessions in which nothing happens, such as 90d. Once a day the server deletes older ones, as terret sessions prune does; pinned ones stay. Default never."`
	Rules          Rules               `json:"rules,omitzero" class:"inside" jsonschema:"Rules for tool uses, such as Bash(git status). Rules of all layers apply; deny beats allow."`
	Agents         map[string]Agent    `json:"agents,omitzero" check:"name" class:"inside" jsonschema:"How to start agents, by name."`
	Providers      map[string]Provider `json:"providers,omitzero" check:"name" class:"inside" jsonschema:"APIs with models for the native agent by the name before the slash in the names of their models."`
	Prices         string              `json:"prices,omitzero" env:"TERRET_PRICES" check:"path" class:"grants" jsonschema:"A file with prices and context sizes of models for the native agent, in the form of driver/native/models.json. Its models are added to those that Terret knows, or replace them."`
	Roots          []string            `json:"roots,omitzero" env:"TERRET_ROOTS" check:"path" class:"grants" jsonschema:"The folders in which the server may open sessions and show files. Empty: the folder it was started in."`
	Addr           string              `json:"addr,omitzero" env:"TERRET_ADDR" check:"addr" class:"grants" jsonschema:"The address the server listens on. Default 127.0.0.1:7433."`
	Releases       string              `json:"releases,omitzero" env:"TERRET_RELEASES" check:"text" class:"grants" jsonschema:"The file or address that terret upgrade --check asks. Nothing else does. Empty: none."`
}

// Undo limits the cost of undo. Zero means the default.
type Undo struct {
	Off      bool  `json:"off,omitzero" env:"TERRET_UNDO_OFF" class:"grants" jsonschema:"Take no snapshots, so that nothing can be undone."`
	MaxFiles int   `json:"max_files,omitzero" class:"grants" jsonschema:"No undo in folders with more files. Default 200000."`
	MaxBytes int64 `json:"max_bytes,omitzero" class:"grants" jsonschema:"No undo if a snapshot has to read more bytes. Default 1 GiB."`
}

// Pool says how many warm agents to keep. Zero means none, or the default.
type Pool struct {
	Size      int   `json:"size,omitzero" check:"signed" class:"grants" jsonschema:"How many agents to keep ready for new sessions, for each recently used kind of session. Each uses as much memory as one at work. Default: one for the server, none elsewhere; a negative number means none."`
	Keys      int   `json:"keys,omitzero" class:"grants" jsonschema:"For how many kinds of sessions to keep agents ready; a kind is an agent in a folder with a model and options. Default 4."`
	MaxMemory int64 `json:"max_memory,omitzero" class:"grants" jsonschema:"The most memory that all waiting agents may use together, in bytes. Default 1 GiB."`
}

// Nesting bounds the sessions that agents start, as they can by terret mcp serve with a
// token of scope prompt. Zero means the default.
type Nesting struct {
	Depth      int `json:"depth,omitzero" class:"grants" jsonschema:"How deep sessions may stand that agents start: 1 means that they start none themselves. Default 2."`
	Sessions   int `json:"sessions,omitzero" class:"grants" jsonschema:"How many sessions that agents have started may be there at once. Default 10."`
	MaxCostUSD int `json:"max_cost_usd,omitzero" class:"grants" jsonschema:"What each of them may cost, in dollars. Default 5."`
}

// Team bounds conversations between agents. Zero means the default.
type Team struct {
	MaxHops      int `json:"max_hops,omitzero" class:"grants" jsonschema:"How many messages in a row may follow from one. Default 32."`
	MaxPerMinute int `json:"max_per_minute,omitzero" class:"grants" jsonschema:"How many messages agents may write within a minute in one conversation. Default 60."`
	MaxCostUSD   int `json:"max_cost_usd,omitzero" class:"grants" jsonschema:"How many dollars a conversation may cost. Default 5."`
}

// Worktree says how to prepare a worktree before an agent works in it.
type Worktree struct {
	Setup string   `json:"setup,omitzero" check:"text" class:"grants" jsonschema:"A shell command to run in it, such as npm ci. The variable PORT holds a port of its own. For a session it runs in the first turn, for at most 15 minutes."`
	Copy  []string `json:"copy,omitzero" class:"grants" jsonschema:"Files that git does not track and that are copied into it, such as .env. A name may be a pattern, such as .env.*."`
}

// Rules are rules as people type them.
type Rules struct {
	Allow []string `json:"allow,omitzero" check:"rule" merge:"add" class:"grants" jsonschema:"Tool uses to allow without asking."`
	Deny  []string `json:"deny,omitzero" check:"rule" merge:"add" class:"restricts" jsonschema:"Tool uses to deny. This is the only key that takes effect in an untrusted project."`
}

// Agent says how to start an agent.
type Agent struct {
	Path string   `json:"path,omitzero" check:"program" class:"grants" jsonschema:"Its program: a name to look up in PATH, or a path."`
	Env  []string `json:"env,omitzero" check:"variable" class:"grants" jsonschema:"Variables it may see besides its own and those that programs usually need. NAME* matches a prefix; * alone is everything that does not look secret."`
	Args []string `json:"args,omitzero" class:"grants" jsonschema:"Arguments to pass besides Terret's own."`
	ACP  bool     `json:"acp,omitzero" class:"grants" jsonschema:"It speaks the Agent Client Protocol. This adds an agent that Terret does not know."`
}

// Provider is an API with models for the native agent.
type Provider struct {
	BaseURL string            `json:"base_url,omitzero" check:"url" class:"grants" jsonschema:"Its address: what stands before /chat/completions (chat) or /responses (responses), such as http://127.0.0.1:8000/v1; before /v1/messages (anthropic); before /v1beta (gemini)."`
	KeyEnv  string            `json:"key_env,omitzero" check:"variable" class:"grants" jsonschema:"The variable that holds the key. Empty: it needs none."`
	API     string            `json:"api,omitzero" check:"api" class:"grants" jsonschema:"What it speaks: chat (OpenAI's Chat Completions), responses (OpenAI's Responses), anthropic or gemini. Default chat."`
	Headers map[string]string `json:"headers,omitzero" check:"text" class:"grants" jsonschema:"Headers that are sent with each request. Keys do not belong here: see key_env and terret keys."`
}

// defaults is the configuration without files and variables, except for Data, which
// depends on the environment: see [DataDir].
func defaults() Config {
	return Config{
		IdleAfter:      Duration(30 * time.Minute),
		SilentAfter:    Duration(2 * time.Hour),
		InterruptGrace: Duration(10 * time.Second),
		LogLevel:       "info",
		KeepDeltas:     Duration(24 * time.Hour),
		Addr:           "127.0.0.1:7433",
	}
}

// Duration is a length of time, or never; zero means unset. In files it is a string
// such as "30m" or "never".
type Duration time.Duration

// Never is an unlimited length of time.
const Never Duration = -1

// parseDuration reads what String writes, and days.
func parseDuration(s string) (Duration, error) {
	if s == "never" {
		return Never, nil
	}
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is not a duration; write it like "90s", "30m", "1h30m", "90d" or "never"`, s)
	}
	return Duration(d), nil
}

func (d Duration) String() string {
	if d < 0 {
		return "never"
	}
	return time.Duration(d).String()
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = parseDuration(string(b))
	return err
}
