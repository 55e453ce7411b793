package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// branched says where the branch of a session's folder stands.
type branched struct {
	session string
	is      client.Branch
}

// branchWithin bounds how long git may take in a folder before the header does without.
const branchWithin = 20 * time.Second

// lookBranch asks where the branch of the open session stands.
func (m *model) lookBranch() tea.Cmd {
	id := m.session.ID
	return m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		ctx, cancel := context.WithTimeout(ctx, branchWithin)
		defer cancel()
		is, err := c.Branch(ctx, id)
		return branched{id, is}, err
	})
}

// movesBranch reports whether the agent may have committed, or changed branches, since.
func movesBranch(e terret.Event) bool {
	switch e.Data.(type) {
	case terret.TurnComplete, terret.TurnError, terret.CheckpointRewound:
		return e.Actor == terret.ActorRoot
	}
	return false
}

const (
	branchColumns = 32
	shortHead     = 7
)

// branchLine is the branch, how far it is ahead and behind, and what git waits for.
func (m *model) branchLine() line {
	b := m.branch
	name := oneLine(b.Branch)
	if name == "" && b.Head != "" {
		name = "at " + oneLine(b.Head)[:min(shortHead, len(oneLine(b.Head)))]
	}
	if name == "" {
		return nil
	}
	out := text(dim, cut(name, branchColumns))
	far := b.Upstream
	if far == nil && b.Worktree {
		far = b.Base
	}
	if far != nil && far.Ahead > 0 {
		out = append(out, span{fmt.Sprintf(" %s%d", m.theme.signs.up, far.Ahead), good})
	}
	if far != nil && far.Behind > 0 {
		out = append(out, span{fmt.Sprintf(" %s%d", m.theme.signs.down, far.Behind), needs})
	}
	if b.Operation != "" {
		out = append(out, span{" " + oneLine(b.Operation), needs | bold})
	}
	return out
}

// place says where the session works, in the columns that are left: the folder and its
// branch, or the branch alone.
func (m *model) place(columns int) line {
	space := line{{"  ", plain}}
	folder, branch := join(space, text(dim, folderOf(m.session.Cwd))), m.branchLine()
	if len(branch) == 0 {
		branch = folder
	} else {
		branch = join(space, branch)
		if both := join(folder, branch); both.width() <= columns {
			return both
		}
	}
	if branch.width() <= columns {
		return branch
	}
	return nil
}
