package postgres

import (
	"strings"
	"sync"
	"testing"
)

// TestOpenTogether starts nodes at the same moment on a database that is empty: in its
// usual schema, and in one that the address names. One of them makes the tables; none is
// refused.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	needServer(t)
	admin(t, `DROP DATABASE IF EXISTS together_db`, `CREATE DATABASE together_db`)
	named := server.URL(t.Name())
	usual := strings.Replace(named[:strings.Index(named, "search_path=")], "/postgres?", "/together_db?", 1)
	for name, url := range map[string]string{"usual schema": strings.TrimRight(usual, "?&"), "named schema": named} {
		t.Run(name, func(t *testing.T) {
			errs := make([]error, 8)
			var nodes sync.WaitGroup
			for i := range errs {
				nodes.Go(func() {
					s, err := Open(t.Context(), url, Options{})
					if errs[i] = err; err == nil {
						errs[i] = s.Close()
					}
				})
			}
			nodes.Wait()
			for i, err := range errs {
				if err != nil {
					t.Errorf("node %d: %v", i, err)
				}
			}
		})
	}
}
