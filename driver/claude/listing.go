package claude

import (
	"context"
	"log/slog"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

var (
	_ terret.ModelLister   = (*Driver)(nil)
	_ terret.CommandLister = (*Driver)(nil)
)

// Models implements terret.ModelLister. It starts the program to ask it.
func (d *Driver) Models(ctx context.Context) ([]terret.Model, error) {
	about, err := d.introduce(ctx)
	return about.models(), err
}

// Commands implements terret.CommandLister. It starts the program to ask it, in the
// working folder; that folder's own commands count only in sessions that trust it.
func (d *Driver) Commands(ctx context.Context) ([]terret.Command, error) {
	about, err := d.introduce(ctx)
	return about.commands(), err
}

// introduce lets the agent introduce itself, without a session.
func (d *Driver) introduce(ctx context.Context) (initializeAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, seat.Patience)
	defer cancel()
	dir, err := os.Getwd()
	if err != nil {
		return initializeAnswer{}, terret.Errorf(terret.CodeInvalidRequest, "cannot find the working folder: %w", err)
	}
	r := terret.OpenRequest{Session: terret.Session{Cwd: dir}, Env: d.cfg.Environ}
	args, o := native{}.args()
	p, err := d.start(ctx, d.launchOf(r, d.sessionEnv(r), r.Settings), append(args, "--no-session-persistence"), o, "", slog.New(slog.DiscardHandler))
	if err != nil {
		return initializeAnswer{}, err
	}
	p.Discard(ctx)
	return p.about, nil
}
