// Package workfiles shows the files of a session's folder to people: what is in
// it, what a file holds, and what has changed. That is its one job; it writes
// nothing into the folder.
//
// # What holds
//
// Nothing outside of the folder can be seen. Every path goes through an os.Root:
// "..", absolute paths and symbolic links that lead out are refused. Only regular
// files are opened: no devices, pipes or sockets, and nothing of a file system
// that the kernel makes up, such as /proc. Terret's own home, .git folders, and
// the logs, prompts and session files in .terret are not shown, by whatever name
// they are reached: a token that may look at a session must not find a better one
// there.
//
// The folder is data. Where git is asked, it works on a git directory of our own
// that borrows the objects and the index of the user's repository and none of its
// configuration: no hook, filter, textconv, fsmonitor or external diff runs, and
// nothing is written into that repository.
//
// Everything is bounded: entries of a list, bytes of a file, files of a search,
// paths and bytes of a diff, and the time that git may take.
//
// # What is not covered
//
// A file that is in .gitattributes with a filter (such as Git LFS) and was
// touched counts as changed: the filter is not run. Repositories that keep their
// references in a reftable have no changes since HEAD.
package workfiles
