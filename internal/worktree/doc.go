// Package worktree gives a session a git worktree of its own, so that what its agent
// does stays apart from the folder that people work in.
//
//	{home}/worktrees/{id}/{name of the repository}   the worktree
//	{home}/worktrees/{id}/origin                     the folder that it was made for
//
// It stands on a branch of its own, terret/{id}, at the commit that is checked out in
// the origin. Changes there that are not committed are not in it.
//
// A worktree is removed only if nothing is lost: no file is changed or new, and all
// commits can be reached from another branch, a tag or another worktree. Files that
// git ignores do not count, as with git worktree remove.
//
// # What holds
//
// Git runs without the user's configuration and environment. The repository's own
// configuration is read, but nothing that it names is run: no hook, no filter, no
// monitor of the file system, no helper. A file that such a filter would change, as
// with LFS, is checked out as it is stored.
package worktree
