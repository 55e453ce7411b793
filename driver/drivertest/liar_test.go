package drivertest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/drivertest"
)

// lie makes the native agent declare what is not true, in a process of its own.
const lie = "TERRET_DRIVERTEST_LIE"

// liar is a driver of agents that say that they show what they think, and that they
// do not stream.
type liar struct{ terret.Driver }

func (l liar) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := l.Driver.Open(ctx, r)
	return lyingAgent{a}, err
}

type lyingAgent struct{ terret.Agent }

func (a lyingAgent) Capabilities() terret.Capabilities {
	c := a.Agent.Capabilities()
	c.Abilities[terret.CanPrewarm] = terret.Ability{OK: true, By: terret.ByAgent}
	c.Abilities[terret.CanStream] = terret.Ability{Reason: "it would be a lie"}
	return c
}

func TestLiar(t *testing.T) {
	t.Parallel()
	if os.Getenv(lie) != "" {
		target := native()
		honest := target.Driver
		target.Driver = func(p drivertest.Place) terret.Driver { return liar{honest(p)} }
		drivertest.Run(t, target)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestLiar/(hello|streaming|prewarmed)$", "-test.v")
	cmd.Env = append(os.Environ(), lie+"=1", matrix+"=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the suite believed a liar")
	}
	for _, want := range []string{
		"--- PASS: TestLiar/hello",
		"--- FAIL: TestLiar/prewarmed",
		"--- FAIL: TestLiar/streaming",
		"it works, though the agent does not declare partial_streaming (it says: it would be a lie)",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
