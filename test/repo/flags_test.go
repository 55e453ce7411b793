package repo_test

import (
	"slices"
	"strings"
	"testing"
)

// TestFlags holds that only the command line reads flags. Tools, examples and suites have
// their own, and the engine looks for one to know whether it is being tested.
func TestFlags(t *testing.T) {
	t.Parallel()
	may := []string{"cmd/", "test/", "tools/", "examples/", "store/storetest/", "driver/drivertest/", "engine/"}
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		if slices.ContainsFunc(may, func(room string) bool { return strings.HasPrefix(name+"/", room) }) {
			continue
		}
		for _, dep := range []string{"flag", "github.com/spf13/cobra", "github.com/spf13/pflag"} {
			if slices.Contains(p.Imports, dep) {
				t.Errorf("%s imports %s: only cmd/terret reads flags", name, dep)
			}
		}
	}
}
