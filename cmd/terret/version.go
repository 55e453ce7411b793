package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// The version of a release, its commit and when that was made, which its build sets.
var released, releasedFrom, releasedAt string //nolint:gochecknoglobals // only the linker can set them

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			from := ""
			commit := releasedFrom
			if commit == "" {
				commit = setting("vcs.revision")
			}
			if commit != "" {
				from = " " + commit[:min(12, len(commit))]
			}
			if releasedFrom == "" && setting("vcs.modified") == "true" {
				from += " with changes"
			}
			if at := built(); !at.IsZero() {
				from += " " + at.UTC().Format(time.DateOnly)
			}
			_, err := fmt.Fprintf(a.out, "terret %s%s %s/%s %s\n", version(), from, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// version is that of the release, or else what the build knows of itself.
func version() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// built is when the commit was made that the program was built from; zero if it does not know.
func built() time.Time {
	at, err := time.Parse(time.RFC3339, releasedAt)
	if err != nil {
		at, _ = time.Parse(time.RFC3339, setting("vcs.time"))
	}
	return at
}

// setting is one of the build's settings.
func setting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
