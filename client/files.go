package client

import (
	"context"
	"io"
	"strconv"
)

// FoundFile is a file or a folder in a session's folder.
type FoundFile struct {
	Path string `json:"path"` // from the session's folder, with slashes
	Type string `json:"type"` // file, dir, link or other
}

// FindFiles finds files in a session's folder whose paths contain the letters of the query in
// order, the best match first. Zero means the server's limit.
func (c *Client) FindFiles(ctx context.Context, session, query string, limit int) ([]FoundFile, error) {
	q := values("session", session, "q", query)
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return items[FoundFile](ctx, c, call{method: "GET", path: at("files", "find"), query: q})
}

// Changes are what has changed in a session's folder, sorted by path.
type Changes struct {
	// Since is what the folder is compared with: head (the commit that is checked out), start
	// (the folder before the session's first turn) or turn (before and after a turn).
	Since      string       `json:"since"`
	Items      []FileChange `json:"items"`
	Insertions int          `json:"insertions"`
	Deletions  int          `json:"deletions"`
	Truncated  bool         `json:"truncated,omitempty"` // more has changed
}

// FileChange is a file that has changed.
type FileChange struct {
	Path       string `json:"path"`
	Change     string `json:"change"` // created, modified, deleted
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	Binary     bool   `json:"binary,omitempty"`
	Diff       string `json:"diff,omitempty"` // unified; empty if it is too large, or was not asked for
	TooLarge   bool   `json:"too_large,omitempty"`
}

// Changes returns what has changed in a session's folder or, with a turn's id, in that turn.
func (c *Client) Changes(ctx context.Context, session, turn string, diffs bool) (Changes, error) {
	q := values("turn", turn)
	if !diffs {
		q.Set("diff", "0")
	}
	return do[Changes](ctx, c, call{method: "GET", path: at("sessions", session, "changes"), query: q})
}

// Download opens a file in a session's folder. The caller closes it; a file that ends early
// is an error of Read.
func (c *Client) Download(ctx context.Context, session, path string) (io.ReadCloser, error) {
	res, err := c.send(ctx, call{method: "GET", path: at("files", "raw"), query: values("session", session, "path", path)})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}
