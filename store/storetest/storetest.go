// Package storetest is the suite that every [terret.Store] passes: the author of
// a store calls [Run] from a test, and [Main] from TestMain, since part of what a
// store promises can only be seen from several processes.
//
//	func TestMain(m *testing.M) {
//		storetest.Main(config) // does not return in a child process
//		goleak.VerifyTestMain(m)
//	}
//
//	func TestStore(t *testing.T) { storetest.Run(t, config) }
//
// The suite asserts no times. It prints the longest wait of a saturated writer,
// and the seed of what it did at random; -storetest.seed repeats it.
package storetest

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

var (
	killRounds = flag.Int("storetest.kills", 50, "how often a writer is killed at a random point")
	seedFlag   = flag.Uint64("storetest.seed", 0, "repeat a run with the seed that it printed; 0 means a new one")
)

// Config is what a store supplies to be tested.
type Config struct {
	// Open opens the store whose data is in dir, and makes it if there is none. The
	// same dir is the same data, also from another process.
	Open func(ctx context.Context, dir string) (terret.Store, error)
	// Single says that no other instance can see the data, as with a store in
	// memory: what needs several instances or processes is left out.
	Single bool
	// Lose makes the next transaction of the store fail with err: in phase "before"
	// it does not take place, in phase "after" it does and only the answer is lost.
	Lose func(st terret.Store, phase string, err error)
	// Blobs counts the large bodies that are stored.
	Blobs func(ctx context.Context, st terret.Store) (int, error)
}

// test is one of the promises of a store.
type test struct {
	name string
	run  func(t *testing.T, s *suite)
	// shared tests need several instances of a store on the same data; alone ones
	// run by themselves, since they keep all processors busy.
	shared, alone bool
}

var tests = []test{
	{name: "four saturated processes all get their turn", run: testSaturation, shared: true, alone: true},
	{name: "nothing acknowledged is lost when a writer is killed", run: testKill, shared: true, alone: true},
	{name: "sequence is dense under concurrent writers", run: testDense},
	{name: "a commit is all its batches or the refusal of one", run: testGroup},
	{name: "deltas that follow each other merge", run: testMerge},
	{name: "an old epoch writes nothing", run: testFence, shared: true},
	{name: "commit of unknown outcome is resolved", run: testUnknownOutcome},
	{name: "followers see history then live", run: testFollow},
	{name: "followers see other processes", run: testFollowProcesses, shared: true},
	{name: "wait ends", run: testWait},
	{name: "fifty answers have one winner", run: testAnswerRace, shared: true},
	{name: "owner and answer race for a decision", run: testOwnerRace},
	{name: "requests", run: testRequests},
	{name: "takeover after death", run: testTakeover, shared: true},
	{name: "claim and release", run: testClaim, shared: true},
	{name: "close in the middle of work", run: testClose, shared: true},
	{name: "turns", run: testTurns},
	{name: "session columns follow the log", run: testSessionColumns},
	{name: "usage", run: testUsage},
	{name: "undo and redo", run: testUndo},
	{name: "create", run: testCreate},
	{name: "list sessions", run: testList},
	{name: "list pages", run: testListPages},
	{name: "delete removes everything", run: testDelete},
	{name: "interrupted delete is finished later", run: testInterruptedDelete},
	{name: "inbox", run: testInbox},
	{name: "inbox is taken with the events", run: testInboxTaken},
	{name: "rules", run: testRules},
	{name: "compaction", run: testCompact},
	{name: "compaction keeps what is nowhere else", run: testCompactKeeps},
	{name: "compaction of a message that went on", run: testCompactAgain},
	{name: "bodies of all sizes", run: testBodies},
	{name: "bytes are kept", run: testBytes},
	{name: "large bodies are stored once", run: testBlobs},
	{name: "read pages", run: testReadPages},
	{name: "read across sessions", run: testReadAll},
	{name: "read backward", run: testBackward},
	{name: "the last position only grows", run: testLastPos},
	{name: "count sessions", run: testCount},
	{name: "one turn", run: testTurn},
	{name: "search", run: testSearch},
	{name: "a deleted session is not found", run: testSearchDelete},
	{name: "owners are told of what others do", run: testWaitForeign},
}

// Run tests the store.
func Run(t *testing.T, c Config) {
	s := &suite{Config: c, seed: *seedFlag}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	t.Logf("seed: -storetest.seed=%d", s.seed)
	for _, test := range tests {
		if c.Single && test.shared {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			if !test.alone {
				t.Parallel()
			}
			test.run(t, s)
		})
	}
}

// suite is one run.
type suite struct {
	Config
	seed uint64
}

// random returns a source of its own for a part of the suite, so that what runs
// at the same time does not change it.
func (s *suite) random(part uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, part)) }

// open opens the store in dir until the end of the test.
func (s *suite) open(t *testing.T, dir string) terret.Store {
	t.Helper()
	st, err := s.Open(t.Context(), dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return st
}

// fresh opens a new store until the end of the test.
func (s *suite) fresh(t *testing.T) terret.Store {
	t.Helper()
	return s.open(t, t.TempDir())
}

// within bounds what would hang if the store were wrong.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func maintainer(t *testing.T, st terret.Store) terret.Maintainer {
	t.Helper()
	m, ok := st.(terret.Maintainer)
	if !ok {
		t.Fatalf("%T is not a terret.Maintainer", st)
	}
	return m
}
