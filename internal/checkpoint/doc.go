// Package checkpoint takes snapshots of a folder and takes the folder back to
// one of them, whoever changed the files: an agent's edit tool, a shell, a
// build.
//
// Every folder has one shadow repository under Terret's home, outside the
// folder: a git directory and an index of its own that share nothing with the
// user's repository, if there is one. A turn is bracketed by two snapshots.
// Undo is Restore(after, before), redo is Restore(before, after); both touch
// only the paths that differ between the two, and refuse when one of them was
// changed by someone else in the meantime.
//
//	repo, err := checkpoint.Open(ctx, home, dir, checkpoint.Limits{})
//	before, err := repo.Snapshot(ctx)
//	// ... a turn ...
//	after, err := repo.Snapshot(ctx)
//	changes, err := repo.Changes(ctx, before.ID, after.ID)
//	result, err := repo.Restore(ctx, after.ID, before.ID, checkpoint.RestoreOptions{})
//
// # What holds
//
// The folder is data. No hook, filter, textconv, fsmonitor or external diff
// runs, and no git configuration is read: not the user's, not the system's, not
// the repository's. Nothing is written into the folder except by Restore, and
// Restore never writes into a .git or through a symbolic link.
//
// Content is byte-exact: attributes in the shadow repository beat those of the
// tree, so no line ending, encoding, keyword or LFS filter is applied.
//
// The shadow repository owns every byte it may have to give back. It borrows no
// objects from the user's repository: borrowed ones vanish when that repository
// is collected or created anew, git does not verify what it reads from another
// repository's packs, and git touches the borrowed files' times. The first
// snapshot writes one pack instead, which costs about a second for 50,000 files.
//
// Nested repositories, submodules and worktrees are part of the file tree of
// the folder, without their .git; their ignore rules count below them.
//
// # What is not covered
//
// Ignored files, unless the user's repository tracks them. Files over
// Limits.MaxFileBytes and files that cannot be read (named in
// Snapshot.LeftOut). Empty folders. Owners, times, extended attributes and
// permission bits other than the executable one, except that a file that was
// private is private again. An edit that keeps the size of a file and puts its
// time back within the second in which the snapshot saw it. Edits that another
// writer makes between the two snapshots of a turn look like the turn's own.
package checkpoint
