package client

import "context"

// Distance says how far what is checked out is from a branch.
type Distance struct {
	Branch string `json:"branch"`
	Ahead  int    `json:"ahead"`
	Behind int    `json:"behind"`
}

// Branch says where the branch of a session's folder stands.
type Branch struct {
	// Problem says in a sentence why there is no more to say.
	Problem   string    `json:"problem,omitempty"`
	Branch    string    `json:"branch,omitempty"`    // empty if none is checked out
	Head      string    `json:"head,omitempty"`      // the commit; empty if there is none
	Operation string    `json:"operation,omitempty"` // a merge, rebase or the like that waits for a person
	Worktree  bool      `json:"worktree,omitempty"`  // it is the session's own worktree
	Origin    string    `json:"origin,omitempty"`    // the folder that it was made from
	Upstream  *Distance `json:"upstream,omitempty"`  // at the remote, if it was pushed
	Base      *Distance `json:"base,omitempty"`      // the branch to merge into
	Remote    string    `json:"remote,omitempty"`
	Host      string    `json:"host,omitempty"`
	Project   string    `json:"project,omitempty"`
	Program   string    `json:"program,omitempty"` // gh, glab or tea, if it would open a pull request
	Link      string    `json:"link,omitempty"`    // where a person can open one
	Hooks     []string  `json:"hooks,omitempty"`
	Signs     bool      `json:"signs,omitempty"` // git is set to sign commits
	Trusted   bool      `json:"trusted"`         // hooks may run, and the branch may be pushed
	// Draft is a pull request as the session tells it.
	Draft PullRequestDraft `json:"draft"`
}

// PullRequestDraft is a pull request to open.
type PullRequestDraft struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
	Base  string `json:"base,omitempty"`  // empty lets the server choose
	Draft bool   `json:"draft,omitempty"` // it is not ready to be merged
}

// Pushed says what a push did.
type Pushed struct {
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	Link   string `json:"link,omitempty"` // where a person can open a pull request
}

// PullRequest is a pull request of a session's branch.
type PullRequest struct {
	Number   int       `json:"number,omitempty"`
	Title    string    `json:"title,omitempty"`
	URL      string    `json:"url"`
	State    string    `json:"state,omitempty"` // open, merged, closed
	Draft    bool      `json:"draft,omitempty"`
	Review   string    `json:"review,omitempty"`  // such as approved
	Existed  bool      `json:"existed,omitempty"` // it was there already
	Checks   []Check   `json:"checks"`
	Comments []Comment `json:"comments"`
}

// Check is what a program says of a pull request.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"` // passed, failed, pending, skipped
	URL   string `json:"url,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Comment is what somebody has written about a pull request.
type Comment struct {
	Author string `json:"author"`
	Text   string `json:"text"`
	Path   string `json:"path,omitempty"` // the file that it is about
	Line   int    `json:"line,omitempty"`
	URL    string `json:"url,omitempty"`
}

// Branch says where the branch of a session's folder stands. Nothing is fetched.
func (c *Client) Branch(ctx context.Context, session string) (Branch, error) {
	return do[Branch](ctx, c, call{method: "GET", path: at("sessions", session, "branch")})
}

// Push pushes the branch of a session's folder. With replace it replaces what was pushed
// before, unless somebody else has pushed since.
func (c *Client) Push(ctx context.Context, session string, replace bool) (Pushed, error) {
	return do[Pushed](ctx, c, call{method: "POST", path: at("sessions", session, "push"), body: map[string]bool{"replace": replace}})
}

// PullRequest returns the pull request of a session's branch, which is not found if there is
// none.
func (c *Client) PullRequest(ctx context.Context, session string) (PullRequest, error) {
	return do[PullRequest](ctx, c, call{method: "GET", path: at("sessions", session, "pull-request")})
}

// OpenPullRequest opens a pull request for a session's branch, which was pushed. If there is
// an open one, that is returned.
func (c *Client) OpenPullRequest(ctx context.Context, session string, d PullRequestDraft) (PullRequest, error) {
	return do[PullRequest](ctx, c, call{method: "POST", path: at("sessions", session, "pull-request"), body: d})
}

// MergeWorktree merges what is committed in a session's worktree into the branch that it
// began at.
func (c *Client) MergeWorktree(ctx context.Context, session string) error {
	return c.onWorktree(ctx, session, "merge")
}

// RebaseWorktree puts the commits of a session's worktree on top of the branch that it began
// at.
func (c *Client) RebaseWorktree(ctx context.Context, session string) error {
	return c.onWorktree(ctx, session, "rebase")
}

// DiscardWorktree removes a session's worktree and its branch, with everything in them.
func (c *Client) DiscardWorktree(ctx context.Context, session string) error {
	return c.onWorktree(ctx, session, "discard")
}

func (c *Client) onWorktree(ctx context.Context, session, what string) error {
	_, err := do[struct{}](ctx, c, call{method: "POST", path: at("sessions", session, "worktree", what)})
	return err
}
