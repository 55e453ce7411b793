package config

import (
	"fmt"
	"time"
)

// Config is all that can be configured. The tags of its fields are used as
// follows: json is the key; env the variable that sets it; jsonschema explains
// it to people; class says whether it acts from a project that is not trusted;
// check names what its values (and keys, if it is a map) must be; merge:"add"
// adds the values of all layers up.
type Config struct {
	Agent          string              `json:"agent,omitzero" env:"TERRET_AGENT" check:"name" class:"grants" jsonschema:"The agent to use when none is named, such as claude. Empty: the first one that is installed and signed in."`
	Model          string              `json:"model,omitzero" env:"TERRET_MODEL" check:"text" class:"grants" jsonschema:"The model to use when none is named. Empty: the agent's own choice."`
	Policy         string              `json:"policy,omitzero" env:"TERRET_POLICY" check:"policy" class:"grants" jsonschema:"What happens to a tool use that no rule decides. Empty: what the command does by default."`
	Data           string              `json:"data,omitzero" env:"TERRET_HOME" check:"path" class:"grants" jsonschema:"The folder of the database, the token and the sockets. A relative path is taken from the folder of the file, or of the project; ~/ is the home folder."`
	IdleAfter      Duration            `json:"idle_after,omitzero" env:"TERRET_IDLE_AFTER" class:"grants" jsonschema:"How long an agent with nothing to do is kept before its process is ended, or never. Default 30m."`
	InterruptGrace Duration            `json:"interrupt_grace,omitzero" env:"TERRET_INTERRUPT_GRACE" check:"bounded" class:"grants" jsonschema:"How long an interrupted turn may take to stop before it is killed. Default 10s."`
	Timeouts       map[string]Duration `json:"timeouts,omitzero" check:"gate" class:"grants" jsonschema:"How long requests wait for a decision, by gate, or never. Default: 10m for hooks, never for permissions, questions and plans."`
	Unattended     bool                `json:"unattended,omitzero" env:"TERRET_UNATTENDED" class:"grants" jsonschema:"Nobody is there to be asked: refuse at once what would be asked."`
	Undo           Undo                `json:"undo,omitzero" class:"inside" jsonschema:"Limits of undo."`
	Pool           Pool                `json:"pool,omitzero" class:"inside" jsonschema:"Agents that are started before they are needed."`
	LogLevel       string              `json:"log_level,omitzero" env:"TERRET_LOG_LEVEL" check:"level" class:"grants" jsonschema:"The least severe messages that Terret's own log takes, which is terret.log in the data folder. Default info."`
	KeepDeltas     Duration            `json:"keep_deltas,omitzero" env:"TERRET_KEEP_DELTAS" class:"grants" jsonschema:"How long the pieces of streamed text are kept, or never to drop none. The server drops older ones in the background; whole messages are always kept. Default 24h."`
	Rules          Rules               `json:"rules,omitzero" class:"inside" jsonschema:"Rules for tool uses, such as Bash(git status). Those of all layers hold; deny beats allow."`
	Agents         map[string]Agent    `json:"agents,omitzero" check:"name" class:"inside" jsonschema:"How agents are started, by name."`
	Roots          []string            `json:"roots,omitzero" env:"TERRET_ROOTS" check:"path" class:"grants" jsonschema:"The folders in which the server may open sessions and show files. Empty: the one it was started in."`
	Addr           string              `json:"addr,omitzero" env:"TERRET_ADDR" check:"addr" class:"grants" jsonschema:"Where the server listens. Default 127.0.0.1:7433."`
}

// Undo limits what undo may cost. Zero means the default.
type Undo struct {
	Off      bool  `json:"off,omitzero" env:"TERRET_UNDO_OFF" class:"grants" jsonschema:"Take no snapshots, so that nothing can be undone."`
	MaxFiles int   `json:"max_files,omitzero" class:"grants" jsonschema:"No undo in folders with more files. Default 200000."`
	MaxBytes int64 `json:"max_bytes,omitzero" class:"grants" jsonschema:"No undo when a snapshot has to read more bytes. Default 1 GiB."`
}

// Pool says how many agents are started before they are needed. Zero means none, or
// the default.
type Pool struct {
	Size      int   `json:"size,omitzero" class:"grants" jsonschema:"How many agents wait for a new session, for each kind of session that was used lately. Each holds as much memory as one at work. Default: one for the server, none elsewhere; a negative number means none."`
	Keys      int   `json:"keys,omitzero" class:"grants" jsonschema:"For how many kinds of sessions agents wait; a kind is an agent in a folder with a model and options. Default 4."`
	MaxMemory int64 `json:"max_memory,omitzero" class:"grants" jsonschema:"How many bytes all agents that wait may hold together. Default 1 GiB."`
}

// Rules are rules in the form that people type.
type Rules struct {
	Allow []string `json:"allow,omitzero" check:"text" merge:"add" class:"grants" jsonschema:"Tool uses that are allowed without asking."`
	Deny  []string `json:"deny,omitzero" check:"text" merge:"add" class:"restricts" jsonschema:"Tool uses that are denied. This is the one key that acts from a project that is not trusted."`
}

// Agent says how an agent is started.
type Agent struct {
	Path string   `json:"path,omitzero" check:"program" class:"grants" jsonschema:"Its program: a name to be looked up in PATH, or a path."`
	Env  []string `json:"env,omitzero" check:"variable" class:"grants" jsonschema:"Variables that it may see though their names look secret. NAME* stands for all that begin so."`
	Args []string `json:"args,omitzero" class:"grants" jsonschema:"Arguments to be passed to it besides Terret's own."`
}

// defaults is the configuration without files and variables, except for Data,
// which depends on the environment: see [DataDir].
func defaults() Config {
	return Config{
		IdleAfter:      Duration(30 * time.Minute),
		InterruptGrace: Duration(10 * time.Second),
		LogLevel:       "info",
		KeepDeltas:     Duration(24 * time.Hour),
		Addr:           "127.0.0.1:7433",
	}
}

// Duration is a length of time, or never; zero means that none is set. In files it
// is a string such as "30m" or "never".
type Duration time.Duration

// Never is a length of time that does not end.
const Never Duration = -1

// parseDuration reads what String writes.
func parseDuration(s string) (Duration, error) {
	if s == "never" {
		return Never, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is not a duration; write it like "90s", "30m", "1h30m" or "never"`, s)
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
