package drivertest

import (
	"net"
	"slices"

	"github.com/terret-dev/terret"
)

// troubles are what the model's API does to agents.
var troubles = []scenario{
	{name: "auth missing", run: authMissing},
	{name: "401", run: apiError(401, terret.CodeNotAuthenticated)},
	{name: "403", run: apiError(403, terret.CodeNotAuthenticated)},
	{name: "404 of the model", run: apiError(404, terret.CodeModelNotFound)},
	{name: "400", run: apiError(400, terret.CodeModelError)},
	{name: "429", run: apiError(429, terret.CodeRateLimited)},
	{name: "500", run: apiError(500, terret.CodeModelError)},
	{name: "529", run: apiError(529, terret.CodeOverloaded)},
	{name: "trouble that passes", cannot: hidesRetries, run: passingTrouble},
	{name: "connection refused", run: connectionRefused},
}

func authMissing(f *fixture) {
	f.place.Key = ""
	f.play(step{Text: "You should not hear me.", Repeat: true})
	id := f.session()
	f.failed(f.run(id, "hello"), terret.CodeNotAuthenticated)
	if n := len(f.model.requests()); n != 0 {
		f.Errorf("the model was asked %d times without a key", n)
	}
}

// apiError is that the turn ends with that kind, and that the session goes on when
// the trouble is over.
func apiError(status int, want terret.ErrorCode) func(*fixture) {
	return func(f *fixture) {
		f.play(
			step{User: "go on", Anywhere: true, Text: "Gone on."},
			step{Status: status, Repeat: true},
		)
		id := f.session()
		// An agent that hides the status does so when it gives up late: how soon it does
		// depends on the machine.
		kinds, hidden := []terret.ErrorCode{want}, false
		if other, ok := f.target.Lacks.Statuses[status]; ok {
			kinds, hidden = append(kinds, other), true
		}
		end := f.failed(f.run(id, "try"), kinds...)
		if end.Error.HTTPStatus != status && !hidden {
			f.Errorf("the status is %d", end.Error.HTTPStatus)
		}
		retryable := slices.Contains([]int{429, 500, 529}, status)
		if end.Error.Retryable != retryable && !hidden {
			f.Errorf("retryable: %v", end.Error.Retryable)
		}
		f.says(id, "go on", "Gone on.")
	}
}

func hidesRetries(t Target) string { return t.Lacks.Retries }

// passingTrouble is tried again, and people can see that.
func passingTrouble(f *fixture) {
	f.play(step{User: "try", Status: 529}, step{User: "try", Text: "At last."})
	id := f.session()
	events := f.says(id, "try", "At last.")
	retry := last[terret.Retry](f, events)
	hidden := f.target.HidesStatus && retry.HTTPStatus == 0 && retry.Error != ""
	if retry.HTTPStatus != 529 && !hidden || retry.Attempt != 1 {
		f.Errorf("%+v", retry)
	}
}

func connectionRefused(f *fixture) {
	ln, err := (&net.ListenConfig{}).Listen(f.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatalf("%v", err)
	}
	f.place.URL = "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil { // nobody listens there now
		f.Fatalf("%v", err)
	}
	f.play(step{Text: "x", Repeat: true})
	id := f.session()
	kinds := []terret.ErrorCode{terret.CodeConnectionFailed}
	if other, ok := f.target.Lacks.Statuses[0]; ok {
		kinds = append(kinds, other)
	}
	if end := f.failed(f.run(id, "try"), kinds...); !end.Error.Retryable {
		f.Errorf("%+v", end.Error)
	}
}
