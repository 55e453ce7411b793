package main

import (
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/config"
	"github.com/terret-dev/terret/internal/project"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/trust"
)

// loadConfig reads the user's and the project's settings. Nothing in a project
// grants anything before it is trusted.
func (a *app) loadConfig() error {
	dir := a.dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			dir = "" // a folder that is gone has no settings
		}
	}
	src := config.Sources{User: config.UserFile(a.environ), Project: dir, Environ: a.environ}
	loaded, err := config.Load(src)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	a.cfg = loaded.Config
	if a.trust = trust.Open(a.home()); dir == "" || a.home() == "" || !a.consider(dir, loaded.Ignored) {
		return nil
	}
	src.Trusted = true
	if loaded, err = config.Load(src); err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	if !a.trusts(dir) {
		return nil // it has changed just now
	}
	// Where Terret's own files are, and with them what is trusted, is not for a
	// project to say.
	loaded.Data = a.cfg.Data
	a.cfg = loaded.Config
	return nil
}

// engineConfig is what the settings say about the engine.
func (a *app) engineConfig() engine.Config {
	timeouts := map[terret.Gate]time.Duration{}
	for gate, d := range a.cfg.Timeouts {
		timeouts[terret.Gate(gate)] = max(time.Duration(d), 0)
	}
	a.files = project.New(project.Options{Redactor: redact.New(redact.FromEnv(a.environ)), Log: a.log()})
	return engine.Config{
		Store: a.store, Drivers: a.drivers, Log: a.log(), Home: a.data, Env: a.environ,
		IdleAfter: time.Duration(a.cfg.IdleAfter), InterruptGrace: time.Duration(a.cfg.InterruptGrace), Timeouts: timeouts,
		Undo:     engine.UndoLimits{Off: a.cfg.Undo.Off, MaxFiles: a.cfg.Undo.MaxFiles, MaxBytes: a.cfg.Undo.MaxBytes},
		Recorder: a.files, Trust: a.trusts, Secrets: redact.Known(redact.FromEnv(a.environ)),
		Pool: engine.Pool{Size: a.cfg.Pool.Size, Keys: a.cfg.Pool.Keys, MaxMemory: a.cfg.Pool.MaxMemory},
	}
}
