package tools

import "sync"

// maxUpdates bounds the notices of progress of one call.
const maxUpdates = 200

// Updates passes notices of progress on that come from other goroutines, so many at most.
// When stop has returned, none is passed on any more.
func Updates(progress func(string)) (say func(text string), stop func()) {
	var mu sync.Mutex
	left := maxUpdates
	say = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if left > 0 && text != "" {
			left--
			progress(text)
		}
	}
	return say, func() {
		mu.Lock()
		defer mu.Unlock()
		left = 0
	}
}
