// Package workfiles shows the files of a session's folder to people: what is in it,
// what a file contains, and what has changed. It writes nothing into the folder.
//
// # Guarantees
//
// Nothing outside the folder can be seen. Every path goes through an os.Root: "..",
// absolute paths and symbolic links that lead out are refused. Only regular files are
// opened: no devices, pipes or sockets, and nothing from virtual file systems such as
// /proc. Terret's own home, .git folders, and the logs, prompts and session files in
// .terret are not shown, under any name: a token that may look at a session must not
// find a better one there.
//
// The folder is data. If git is needed, it works on our own git directory, which
// borrows the objects and the index of the user's repository but none of its
// configuration: no hook, filter, textconv, fsmonitor or external diff runs, and
// nothing is written into that repository.
//
// Everything is bounded: entries of a list, bytes of a file, files of a search, paths
// and bytes of a diff, and the time that git may take.
//
// # Not covered
//
// A file with a filter in .gitattributes (such as Git LFS) that was touched counts as
// changed: the filter is not run. Repositories with reftable references have no changes
// since HEAD.
package workfiles
