//go:build !noweb

// Package web is the web UI: files that were built from src and are part of the
// program, so that it needs no Node to build or run. The server sets the
// headers that keep other pages out, as internal/server/access does.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// Handler serves the UI. Addresses that are no file are pages of it. The files are
// read when a browser asks for the first one: a server without a browser needs none.
func Handler() http.Handler {
	ui := sync.OnceValue(func() http.Handler {
		assets, err := load()
		if err != nil {
			panic(err) // the files are part of the program
		}
		return serve(assets)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ui().ServeHTTP(w, r) })
}

// load reads all files of a known type.
func load() (map[string]asset, error) {
	assets := map[string]asset{}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || types[path.Ext(name)] == "" {
			return err
		}
		body, err := dist.ReadFile(name)
		name = strings.TrimPrefix(name, "dist/")
		assets[name] = newAsset(name, body)
		return err
	})
	return assets, err
}
