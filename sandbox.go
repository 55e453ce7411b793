package terret

import "slices"

// Sandbox says what the commands of an agent may change, and that they have no network.
// The empty value means that nobody has asked for one.
type Sandbox string

// The sandboxes.
const (
	SandboxOff      Sandbox = "off"             // none, even if the configuration has one
	SandboxWrite    Sandbox = "workspace-write" // the session's folders and the one for temporary files
	SandboxReadOnly Sandbox = "read-only"       // nothing
)

// Sandboxes lists them, the strictest last.
func Sandboxes() []Sandbox { return []Sandbox{SandboxOff, SandboxWrite, SandboxReadOnly} }

// Validate rejects an unknown sandbox.
func (s Sandbox) Validate(field string) error {
	if s == "" || slices.Contains(Sandboxes(), s) {
		return nil
	}
	return Invalid(field, "there is no sandbox %q; use %s", s, oneOf(Sandboxes()))
}

// Stricter returns the stricter of the two; it is empty if neither is a sandbox.
func (s Sandbox) Stricter(other Sandbox) Sandbox {
	at := max(slices.Index(Sandboxes(), s), slices.Index(Sandboxes(), other))
	if at <= 0 {
		return ""
	}
	return Sandboxes()[at]
}
