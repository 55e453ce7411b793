// Package forge brings what was done in a folder to where people look at changes: it says
// where the folder's branch stands, pushes it, and opens pull requests.
//
// [Folder.Status] only looks, with git as [gitcmd] runs it: nothing that the repository names
// runs. Commit, Push and the pull requests are a person's explicit acts: they run the person's
// own git, with its configuration, hooks, signing and sign-in, and the program of the forge
// (gh, glab or tea) if it is installed, with its own sign-in. So they are for folders that a
// person trusts; the caller sees to that. Terret has no key of any forge.
//
// None of them asks at a terminal, and each ends within a limit of time, together with
// everything it has started. Errors of type *[worktree.RefusedError] are plain sentences about
// what a person can do something about.
package forge
