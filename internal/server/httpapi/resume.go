package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// Workflows, reviews and races outlive the server that works on them: it notes each in a
// file, and the next server continues those that nobody works on. What a person stopped in
// the terminal has no such file and waits to be resumed.

// job is the note about a piece of work.
type job struct {
	Kind    string `json:"kind"`
	By      string `json:"by"`
	Crashes int    `json:"crashes,omitempty"` // how many servers died in a row while they worked on it
}

// The kinds of jobs.
const (
	jobWorkflow = "workflow"
	jobReview   = "review"
	jobRace     = "race"
)

// maxCrashes is how many servers may die over a job before it waits for a person.
const maxCrashes = 3

const jobSuffix = ".job"

func (s *Server) jobs() string { return filepath.Join(s.cfg.Home, "workflows") }

// note writes a job down. A server without a home forgets its jobs.
func (s *Server) note(id string, j job) {
	if s.cfg.Home == "" {
		return
	}
	text, err := json.Marshal(j)
	if err == nil {
		err = os.MkdirAll(s.jobs(), 0o700)
	}
	if err == nil {
		err = files.Write(filepath.Join(s.jobs(), id+jobSuffix), text)
	}
	if err != nil {
		s.log.Warn("the next server will not continue this", "id", id, "error", err)
	}
}

func (s *Server) forget(id string) {
	if s.cfg.Home == "" {
		return
	}
	if err := os.Remove(filepath.Join(s.jobs(), id+jobSuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("cannot forget a job", "id", id, "error", err)
	}
}

// jobbing counts who works on each job: a person may have it go on before the one who
// stopped there has left.
type jobbing struct {
	mu sync.Mutex
	on map[string]int
}

// takeJob notes a job on which work begins.
func (s *Server) takeJob(id string, j job) {
	s.jobbing.mu.Lock()
	defer s.jobbing.mu.Unlock()
	if s.jobbing.on == nil {
		s.jobbing.on = map[string]int{}
	}
	s.jobbing.on[id]++
	s.note(id, j)
}

// leaveJob ends the work of one on a job. What is done is forgotten, unless somebody else
// already works on it again.
func (s *Server) leaveJob(id string, done bool) {
	s.jobbing.mu.Lock()
	defer s.jobbing.mu.Unlock()
	if s.jobbing.on[id]--; s.jobbing.on[id] > 0 {
		return
	}
	delete(s.jobbing.on, id)
	if done {
		s.forget(id)
	}
}

// work works on something in the background, until the server stops.
func (s *Server) work(id string, j job) {
	s.takeJob(id, j)
	s.background.Go(func() {
		err := s.runJob(j, id)
		stopped := s.steps.Err() != nil
		switch {
		case stopped:
			j.Crashes = 0 // it was asked to stop
			s.note(id, j)
		case err != nil:
			s.log.Warn("work was cut off", "kind", j.Kind, "id", id, "error", err)
		}
		s.leaveJob(id, err == nil && !stopped)
	})
}

func (s *Server) runJob(j job, id string) (err error) {
	switch j.Kind {
	case jobWorkflow:
		_, err = s.workflows().Run(s.steps, j.By, id)
	case jobReview:
		_, err = s.reviews().Run(s.steps, j.By, id)
	case jobRace:
		_, err = s.races().Run(s.steps, j.By, id)
	}
	return err
}

// look returns the folder and the state of a job.
func (s *Server) look(ctx context.Context, j job, id string) (cwd, state string, err error) {
	switch j.Kind {
	case jobWorkflow:
		x, err := s.workflows().Get(ctx, id)
		return x.Cwd, string(x.State), err
	case jobReview:
		x, err := s.reviews().Get(ctx, id)
		return x.Cwd, x.State, err
	case jobRace:
		x, err := s.races().Get(ctx, id)
		return x.Cwd, string(x.State), err
	}
	return "", "", terret.Errorf(terret.CodeNotFound, "there is no such kind of work: %s", j.Kind)
}

// interrupted is the state of work that has not ended and that nobody works on.
const interrupted = "interrupted"

// resume continues what earlier servers left.
func (s *Server) resume() {
	if s.cfg.Home == "" {
		return
	}
	files, err := os.ReadDir(s.jobs())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("cannot see what earlier servers left", "error", err)
	}
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), jobSuffix)
		if !ok {
			continue
		}
		var j job
		text, err := os.ReadFile(filepath.Join(s.jobs(), file.Name()))
		if err == nil {
			err = json.Unmarshal(text, &j)
		}
		if err == nil {
			err = s.resumeJob(id, j)
		}
		if err != nil && s.steps.Err() == nil {
			s.log.Warn("cannot continue what an earlier server left", "kind", j.Kind, "id", id, "error", err)
		}
	}
}

func (s *Server) resumeJob(id string, j job) error {
	cwd, state, err := s.look(s.steps, j, id)
	switch {
	case errors.Is(err, terret.ErrNotFound), err == nil && state != interrupted && state != "running":
		s.forget(id) // it is gone, has ended, or waits for a person
		return nil
	case err != nil:
		return err
	case state != interrupted:
		return nil // a process works on it
	}
	if _, err := s.inRoots("cwd", cwd); err != nil {
		return err
	}
	if j.Crashes >= maxCrashes {
		s.log.Warn("this waits to be resumed by a person, because servers died over it", "kind", j.Kind, "id", id, "crashes", j.Crashes)
		return nil
	}
	j.Crashes++
	s.log.Info("continuing what an earlier server left", "kind", j.Kind, "id", id)
	s.work(id, j)
	return nil
}
