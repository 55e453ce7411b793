package main

import (
	"maps"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/config"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/project"
)

// loadConfig reads the user's and the project's settings. Nothing in a project
// grants anything before it is trusted.
func (a *app) loadConfig() error {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // a folder that is gone has no settings
	}
	loaded, err := config.Load(config.Sources{User: config.UserFile(a.environ), Project: dir, Environ: a.environ})
	if err != nil {
		return terret.Errorf(terret.KindInvalidRequest, "%w", err)
	}
	if len(loaded.Ignored) > 0 {
		a.note("settings of this project that are not trusted are ignored: %v", loaded.Ignored)
	}
	a.cfg = loaded.Config
	return nil
}

// engineConfig is what the settings say about the engine.
func (a *app) engineConfig() engine.Config {
	timeouts := maps.Clone(engine.DefaultTimeouts)
	for gate, d := range a.cfg.Timeouts {
		timeouts[terret.Gate(gate)] = max(time.Duration(d), 0)
	}
	return engine.Config{
		Store: a.store, Drivers: a.drivers, Log: a.log(), Home: a.data, Env: a.environ,
		IdleAfter: time.Duration(a.cfg.IdleAfter), InterruptGrace: time.Duration(a.cfg.InterruptGrace), Timeouts: timeouts,
		Undo:     engine.UndoLimits{Off: a.cfg.Undo.Off, MaxFiles: a.cfg.Undo.MaxFiles, MaxBytes: a.cfg.Undo.MaxBytes},
		Recorder: project.New(project.Options{Redactor: redact.New(redact.FromEnv(a.environ)), Log: a.log()}),
	}
}
