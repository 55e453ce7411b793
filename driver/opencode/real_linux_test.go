package opencode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestRealModels asks the real program for its models, outside of a session.
func TestRealModels(t *testing.T) {
	t.Parallel()
	place := agenttest.Find(t, "opencode").Prepare(t, "http://127.0.0.1:1")
	bin, _, _ := strings.Cut(seat.Lookup(place.Env, "PATH"), string(os.PathListSeparator))
	models, err := New(Config{Path: filepath.Join(bin, "opencode"), Environ: append(place.Env, "ANTHROPIC_API_KEY=fake")}).Models(t.Context())
	if err != nil || !slices.ContainsFunc(models, func(m terret.Model) bool { return m.ID == "fake/fake-model" && m.Name != "" }) {
		t.Errorf("%+v, %v", models, err)
	}
}
