package access

import "time"

// Mark tells the identity's token apart from all others, without telling the token. What
// belongs to a device is kept under it: a name may be given again, a token is not.
func (id Identity) Mark() string {
	text, _ := id.hash.MarshalText() // never fails
	return string(text)
}

// Marked returns whose token has that mark. It does not count as a use of the token. The
// error is unauthorized if there is none, or none any more.
func (t *Tokens) Marked(mark string) (Identity, error) {
	var h hash
	if h.UnmarshalText([]byte(mark)) != nil {
		return Identity{}, errUnauthorized()
	}
	if h == t.admin {
		return Identity{Name: adminName, Scope: Admin, hash: h}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.load()
	if err != nil {
		return Identity{}, err
	}
	found := search(list, h)
	if found < 0 || list[found].expired(time.Now()) {
		return Identity{}, errUnauthorized()
	}
	s := list[found]
	return Identity{Name: s.Name, Scope: s.Scope, Session: s.Session, Device: s.Device, hash: h}, nil
}

// IsAdmin reports whether it is the admin token of a machine, which other nodes of a fleet
// do not know.
func (id Identity) IsAdmin() bool { return id.Name == adminName }
