//go:build !linux && !darwin

package checkpoint

// look returns nil: here a look does not tell whether a file has changed.
func (r *Repo) look(map[string]bool) *sight { return nil }
