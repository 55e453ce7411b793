//go:build noweb

// Package web is the web UI, left out of this program by the build tag noweb.
package web

import "net/http"

const without = "<!doctype html>\n<html lang=\"en\"><title>Terret</title><p>This terret was built without the web UI (tag noweb). The API is under /v1.\n"

// Handler serves a page that says that the UI is not there.
func Handler() http.Handler {
	return serve(map[string]asset{index: newAsset(index, []byte(without))})
}
