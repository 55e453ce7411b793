package archive

import "github.com/terret-dev/terret"

// maxName bounds names that a file gives.
const maxName = 512

// checkNames rejects names that an agent could misread as a flag.
func checkNames(s terret.Session) error {
	for _, v := range []string{s.Agent, s.Model, string(s.Persona)} {
		if len(v) > maxName || terret.CheckWord("", v) != nil {
			return invalid(1, "%.64q is not an agent, a model or a persona", v)
		}
	}
	return nil
}
