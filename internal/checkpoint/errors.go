package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBusy reports that another session held the shadow repository for all
	// of Limits.Timeout. Nothing was done; try again.
	ErrBusy = errors.New("checkpoint: another session is using the shadow repository of this folder")

	// ErrUnknownSnapshot reports an ID that the shadow repository does not hold.
	ErrUnknownSnapshot = errors.New("checkpoint: unknown snapshot")

	// ErrDiffTooLarge reports a diff over 32 MiB. Ask for fewer paths.
	ErrDiffTooLarge = errors.New("checkpoint: the diff is over 32 MiB; ask for fewer paths")
)

// A DisabledError reports that undo is off for a folder, and why. The reason is
// a clause for people: "git is not installed; install git 2.32 or later".
type DisabledError struct {
	Dir    string
	Reason string
}

func (e *DisabledError) Error() string {
	return fmt.Sprintf("undo is off for %s: %s", e.Dir, e.Reason)
}

// A ConflictError reports that Restore changed nothing, because these paths are
// no longer what the snapshot to leave says: someone else changed them. The
// paths are relative to the folder, with slashes, sorted.
type ConflictError struct {
	Paths []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("nothing was restored: %s changed since the snapshot; look at them, then force the restore to overwrite them",
		enumerate(e.Paths))
}

// A RestoreError reports a restore that did not finish. Result says which paths
// are restored and which are not; the same Restore can be run again once the
// cause is gone.
type RestoreError struct {
	Dir         string
	NotRestored []string
	Err         error
}

func (e *RestoreError) Error() string {
	return fmt.Sprintf("restore %s: %s not restored: %v; remove the cause and run it again",
		e.Dir, enumerate(e.NotRestored), e.Err)
}

func (e *RestoreError) Unwrap() error { return e.Err }

// enumerate names the first few paths, quoted, and counts the rest.
func enumerate(paths []string) string {
	const most = 5
	var b strings.Builder
	for i, p := range paths {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(paths)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", p)
	}
	return b.String()
}
