package store

import (
	"encoding/json"
	"reflect"

	"github.com/terret-dev/terret"
)

// SameDecision reports whether a stored decision is d.
func SameDecision(stored string, d terret.Decision) bool {
	var have, want terret.Decision
	text, err := json.Marshal(d)
	return err == nil && json.Unmarshal(text, &want) == nil &&
		json.Unmarshal([]byte(stored), &have) == nil && reflect.DeepEqual(have, want)
}

// AlreadyDecided is the error about a request that has the stored decision.
func AlreadyDecided(id, stored string) error {
	var d terret.Decision
	if json.Unmarshal([]byte(stored), &d) != nil || d.Behavior == "" {
		return terret.Errorf(terret.CodeAlreadyDecided, "request %s is already decided", id)
	}
	who := d.By
	if who == "" {
		who = string(d.Source)
	}
	return terret.Errorf(terret.CodeAlreadyDecided, "request %s is already decided: %s, by %s", id, d.Behavior, who)
}
