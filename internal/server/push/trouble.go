package push

import "time"

const (
	firstPause = 30 * time.Second // after a failure; it is twice as long each time
	longPause  = 5 * time.Minute  // the longest
)

// trouble counts the failures in a row of something that is tried again and again.
type trouble struct {
	times int
	until time.Time // when to try again
}

// note remembers how a try ended. It reports whether that is the first failure in a row, which
// is to be logged.
func (t *trouble) note(err error) (first bool) {
	if err == nil {
		*t = trouble{}
		return false
	}
	pause := longPause
	if t.times < 8 {
		pause = min(firstPause<<t.times, longPause)
	}
	t.until = time.Now().Add(pause)
	t.times++
	return t.times == 1
}
