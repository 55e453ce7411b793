package archive

import "github.com/terret-dev/terret"

// maxName bounds names that a file gives.
const maxName = 512

// checkNames refuses names that an agent could take for a flag, or that are none.
func checkNames(s terret.Session) error {
	for _, v := range []string{s.Agent, s.Model, string(s.Persona)} {
		if len(v) > maxName || terret.CheckWord("", v) != nil {
			return invalid(1, "%.64q is not the name of an agent, a model or a persona", v)
		}
	}
	return nil
}
