package engine

// Stopping reports whether the session's turn has been told to stop.
func Stopping(e *Engine, session string) bool {
	l := e.mine(session)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn != nil && l.turn.stop != nil
}
