// Package worktree gives a session its own git worktree, so that what its agent does
// stays apart from the folder that people work in.
//
//	{home}/worktrees/{id}/{name of the repository}   the worktree
//	{home}/worktrees/{id}/origin                     the folder that it was made for
//	{home}/worktrees/{id}/branch                     its branch, and the one that it began at
//	{home}/worktrees/{id}/setup                      a command that is still to be run in it
//
// It is on its own branch, named after what it is for or else terret/{id}, at the commit that is checked out in the
// origin. Uncommitted changes there are not in it.
//
// A worktree is removed only if nothing is lost: no file is changed or new, and all
// commits can be reached from another branch, a tag or another worktree. Files that git
// ignores count, too, unless the removal is forced: a new .env is nowhere else.
//
// A clone that was made for a session can be packed for another machine, and unpacked there.
//
// # Guarantees
//
// Git runs without the user's configuration and environment, except for the list of what
// the user's git ignores everywhere. It reads the repository's
// own configuration, but runs nothing that it names: no hook, filter, merge driver, file
// system monitor or helper. A file that such a filter would change, as with LFS, is checked
// out as it is stored.
package worktree
