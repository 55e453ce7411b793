// Package checkpoint takes snapshots of a folder and restores them. It does not matter
// what changed the files: an agent's edit tool, a shell, a build.
//
// Every folder has one shadow repository under Terret's home, outside the folder: its
// own git directory and index, which share nothing with the user's repository, if there
// is one. Two snapshots bracket a turn. Undo is Restore(after, before), redo is
// Restore(before, after); both touch only the paths that differ between the two, and
// refuse if one of them was changed in the meantime.
//
//	repo, err := checkpoint.Open(ctx, home, dir, checkpoint.Limits{})
//	before, err := repo.Snapshot(ctx)
//	// ... a turn ...
//	after, err := repo.Snapshot(ctx)
//	changes, err := repo.Changes(ctx, before.ID, after.ID)
//	result, err := repo.Restore(ctx, after.ID, before.ID, checkpoint.RestoreOptions{})
//
// # Guarantees
//
// The folder is data. No hook, filter, textconv, fsmonitor or external diff
// runs, and no git configuration is read: not the user's, not the system's, not
// the repository's. Nothing is written into the folder except by Restore, and
// Restore never writes into a .git or through a symbolic link.
//
// Content is byte-exact: attributes in the shadow repository beat those of the
// tree, so no line ending, encoding, keyword or LFS filter is applied.
//
// The shadow repository owns every byte it may have to restore. It borrows no objects
// from the user's repository: borrowed ones vanish when that repository is
// garbage-collected or recreated, git does not verify what it reads from another
// repository's packs, and git changes the timestamps of borrowed files. The first
// snapshot writes one pack instead, which takes about a second for 50,000 files.
//
// Nested repositories, submodules and worktrees are part of the folder's file tree,
// without their .git; their ignore rules apply below them.
//
// A forced restore keeps a copy of what it overwrites that no snapshot has, for a while:
// see [Repo.Copies].
//
// # Not covered
//
// Ignored files, unless the user's repository tracks them. Files over
// Limits.MaxFileBytes and unreadable files (named in Snapshot.LeftOut). Anything in a
// .git. Empty folders, pipes, sockets and devices. [Repo.Uncovered] names those that may
// have changed. Owners, timestamps, extended attributes, and the permission bits of
// folders. An edit that keeps the size of a file and resets its time within the second
// in which the snapshot saw it. Edits that another writer makes between the two snapshots
// of a turn look like the turn's own.
package checkpoint
