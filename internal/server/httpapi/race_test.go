//go:build race

package httpapi_test

// raceEnabled says that everything is slower.
const raceEnabled = true
