package sdk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait in these tests.
const patience = time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// demo are options for the demo model in a folder of its own, with nothing of
// whoever runs the tests.
func demo(t *testing.T) sdk.Options {
	t.Helper()
	return sdk.Options{Model: "demo", Cwd: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
}

// scripted are options for an agent that follows the script.
func scripted(t *testing.T, turns ...[]mock.Step) sdk.Options {
	t.Helper()
	o := demo(t)
	o.Agent, o.Model, o.Drivers = "mock", "", []terret.Driver{mock.New(mock.Script{Turns: turns})}
	return o
}

func newSession(t *testing.T, o sdk.Options) *sdk.Session {
	t.Helper()
	s, err := sdk.NewSession(deadline(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func send(t *testing.T, s *sdk.Session, text string) {
	t.Helper()
	if err := s.Send(deadline(t), text); err != nil {
		t.Fatal(err)
	}
}

// receive returns the messages of the next turn.
func receive(t *testing.T, s *sdk.Session) (thread []*sdk.NormalizedMessage, result *sdk.ResultMessage) {
	t.Helper()
	for msg, err := range s.Receive(deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *sdk.NormalizedMessage:
			thread = append(thread, m)
		case *sdk.ResultMessage:
			if result != nil {
				t.Fatal("a second result")
			}
			result = m
		}
	}
	if result == nil {
		t.Fatal("no result")
	}
	return thread, result
}

func exists(t *testing.T, dir, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func kindOf(err error) terret.ErrorCode {
	if err == nil {
		return ""
	}
	return terret.AsError(err).Code
}
