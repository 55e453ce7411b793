package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/terret-dev/terret"
)

// childEnv names the folder of the store that a child process is to open.
const childEnv = "TERRET_STORETEST_CHILD"

// job is what a child process is told to do, one line of JSON.
type job struct {
	Do       string
	Sessions []string
	Count    int
	Seed     uint64
	Decision terret.Decision
}

// report is what it answers: one line, or one for each commit.
type report struct {
	Kind  terret.ErrorCode `json:",omitempty"`
	Error string           `json:",omitempty"`
	Acks  []ack            `json:",omitempty"`
	// Of a saturated writer: how many commits it made, the most that others made
	// while it waited for one, and its longest wait.
	Commits, Overtaken int
	LongestMS          int64
}

// ack is an event that a commit has acknowledged, or that was read.
type ack struct {
	Session string
	Seq     int64
	Hash    string
}

func ackOf(entries []terret.Entry) []ack {
	out := make([]ack, len(entries))
	for i, e := range entries {
		out[i] = ack{Session: e.Session, Seq: e.Seq, Hash: hash(e)}
	}
	return out
}

// Main does the work of a child process and exits, if this is one. Call it first
// in TestMain.
func Main(c Config) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return
	}
	if err := serve(c, dir); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve does jobs until there are no more, then closes the store.
func serve(c Config, dir string) error {
	ctx := context.Background()
	st, err := c.Open(ctx, dir)
	if err != nil {
		return err
	}
	w := &childWorker{st: st, out: json.NewEncoder(os.Stdout), writers: map[string]*writer{}}
	if err := w.out.Encode(report{}); err != nil { // ready
		return err
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var j job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return st.Close()
		} else if err != nil {
			return err
		}
		r, err := w.do(ctx, j)
		if err != nil {
			e := terret.AsError(err)
			r.Kind, r.Error = e.Code, e.Error()
		}
		if err := w.out.Encode(r); err != nil {
			return err
		}
	}
}

type childWorker struct {
	st      terret.Store
	out     *json.Encoder
	writers map[string]*writer
}

func (w *childWorker) do(ctx context.Context, j job) (report, error) {
	switch j.Do {
	case "claim":
		for _, id := range j.Sessions {
			owned, err := claim(ctx, w.st, id)
			if err != nil {
				return report{}, err
			}
			w.writers[id] = owned
		}
		return report{}, nil
	case "append":
		return w.append(ctx, j)
	case "follow":
		entries, err := follow(ctx, w.st, j.Sessions[0], 0, int64(j.Count))
		return report{Acks: ackOf(entries)}, err
	case "answer":
		return report{}, w.st.Answer(ctx, j.Decision)
	case "saturate":
		return w.saturate(ctx, j)
	case "write":
		return report{}, w.writeUntilKilled(ctx, j)
	}
	return report{}, fmt.Errorf("there is no job %q", j.Do)
}

func (w *childWorker) append(ctx context.Context, j job) (report, error) {
	var r report
	for i := range j.Count {
		for _, id := range j.Sessions {
			entries, err := w.writers[id].append(ctx, note("event %d of a child", i))
			if err != nil {
				return r, err
			}
			r.Acks = append(r.Acks, ackOf(entries)...)
		}
	}
	return r, nil
}

// child is the other end: a process with the store open.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
	ended  bool
}

// spawn starts a process that opens the store in dir. It is killed at the end of
// the test if it is still there.
func (s *suite) spawn(t *testing.T, dir string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.CommandContext(within(t), os.Args[0])}
	c.cmd.Env = append(slices.Clone(os.Environ()), childEnv+"="+dir)
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// ready waits until the child has opened the store.
func (c *child) ready() *child {
	c.t.Helper()
	if r, err := c.next(); err != nil || r.Error != "" {
		c.kill()
		c.t.Fatalf("child did not start: %v %v\n%s", err, r.Error, &c.stderr)
	}
	return c
}

// next is the next line that the child says; io.EOF if it is gone.
func (c *child) next() (report, error) {
	var r report
	err := c.out.Decode(&r)
	return r, err
}

func (c *child) tell(j job) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(j); err != nil {
		c.t.Fatalf("tell child: %v", err)
	}
}

// do tells and waits for the answer.
func (c *child) do(j job) report {
	c.t.Helper()
	c.tell(j)
	return c.answer(j.Do)
}

func (c *child) answer(what string) report {
	c.t.Helper()
	r, err := c.next()
	if err != nil {
		c.kill()
		c.t.Fatalf("child died of %q: %v\n%s", what, err, &c.stderr)
	}
	return r
}

// must is do for jobs that work.
func (c *child) must(j job) report {
	c.t.Helper()
	r := c.do(j)
	if r.Error != "" {
		c.t.Fatalf("child: %s: %s", j.Do, r.Error)
	}
	return r
}

// kill ends the child as kill -9 does, and waits for its end.
func (c *child) kill() {
	if c.ended {
		return
	}
	c.ended = true
	c.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	c.cmd.Wait()         //nolint:errcheck // it was killed
	c.in.Close()
}

// close lets the child close its store and end by itself.
func (c *child) close() {
	c.t.Helper()
	c.ended = true
	if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
		c.t.Errorf("child: %v\n%s", err, &c.stderr)
	}
}
