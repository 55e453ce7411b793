package engine_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/postgres"
)

// The drill. See `make drill`.
const (
	drillEnv   = "TERRET_DRILL"             // the number of sessions
	drillVia   = "TERRET_DRILL_VIA"         // address of the proxy between a node and the database
	drillNodes = 3                          // that run agents; a fourth only watches
	drillBound = shortLease + 5*time.Second // after which an event is late
)

// drill is a node of the drill: its agents talk until it is stopped.
func drill(ctx context.Context, path, name string) error {
	text := strings.Replace((&pgtest.Server{}).URL(path), "@/", "@"+os.Getenv(drillVia)+"/", 1)
	s, err := postgres.Open(ctx, text, postgres.Options{Lease: shortLease})
	if err != nil {
		return err
	}
	steps := make([]mock.Step, 0, 2000)
	for i := range cap(steps) / 2 {
		steps = append(steps, mock.Step{Text: fmt.Sprint(i)}, mock.Step{Delay: mock.Duration(2 * time.Second)})
	}
	e, err := engine.New(ctx, engine.Config{Store: s, Node: name, Drivers: []terret.Driver{mock.New(mock.Script{Turns: [][]mock.Step{steps}})}})
	if err != nil {
		return err
	}
	if err := s.Join(ctx, terret.Node{Name: name, Place: name}); err != nil {
		return err
	}
	count, err := strconv.Atoi(os.Getenv(drillEnv))
	if err != nil {
		return err
	}
	for range count / drillNodes {
		n, err := e.Create(ctx, terret.Session{Agent: "mock", Cwd: os.TempDir()})
		if err == nil {
			_, err = e.Prompt(ctx, engine.PromptRequest{Session: n.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("talk")}}})
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("ready")
	select {} // until it is stopped
}
