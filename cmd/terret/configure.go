package main

import (
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
)

// loadConfig reads the user's and the project's settings. A project's grants are
// ignored until the folder is trusted.
func (a *app) loadConfig() error {
	dir := a.dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			dir = "" // a missing folder has no settings
		}
	}
	src := config.Sources{User: config.UserFile(a.environ), Project: dir, Environ: a.environ}
	loaded, err := config.Load(src)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	a.cfg, a.loaded = loaded.Config, loaded
	if loaded.Broken != nil && !a.quiet {
		a.note("warning: the settings of this project are ignored: %s", oneLine(loaded.Broken.Error()))
	}
	if a.trust = assemble.OpenTrust(a.home()); dir == "" || a.home() == "" {
		return nil
	}
	if trusted, err := a.consider(dir, loaded.Ignored); err != nil || !trusted {
		return err
	}
	src.Trusted = true
	if loaded, err = config.Load(src); err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	if !a.trusts(dir) {
		return nil // it changed just now
	}
	// A project cannot move Terret's own files, which include what is trusted.
	loaded.Data, loaded.Store = a.cfg.Data, a.cfg.Store
	loaded.From["data"], loaded.From["store"] = a.loaded.From["data"], a.loaded.From["store"]
	a.cfg, a.loaded = loaded.Config, loaded
	return nil
}

// reload reads the same settings again. It asks nobody: what is not trusted by now does not
// count.
func (a *app) reload() (config.Loaded, error) {
	dir := a.dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			dir = ""
		}
	}
	src := config.Sources{User: config.UserFile(a.environ), Project: dir, Environ: a.environ}
	own, err := config.Load(src)
	if err != nil || dir == "" || !a.trusts(dir) {
		return own, err
	}
	src.Trusted = true
	all, err := config.Load(src)
	if err != nil {
		return own, err
	}
	all.Data, all.Store = own.Data, own.Store
	all.From["data"], all.From["store"] = own.From["data"], own.From["store"]
	return all, nil
}
