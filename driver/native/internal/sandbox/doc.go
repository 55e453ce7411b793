// Package sandbox runs commands without network and with few folders that they may
// write to, on Linux.
//
//	r := sandbox.New([]string{"/usr/bin/terret", "sandbox-exec"}, os.Environ())
//	argv, err := r.Wrap(sandbox.Box{Write: []string{project, "/tmp"}}, []string{"/bin/sh", "-c", text})
//
// Whoever starts argv instead gets the same process in a sandbox: same pipes, same
// folder, same environment, same exit status.
//
// # How it works
//
// A process can only restrict itself, so a helper runs first: the program of [New],
// which must call [Main] with what follows in its arguments. The helper applies the
// restrictions and then becomes the command. It uses bubblewrap if that is installed and
// works here, or else Landlock (Linux 6.2 or newer); if neither holds, Wrap says why. What
// works here is tried out once, by a command that must fail to write, to change a kernel
// setting, to open a socket and to use a keyring; a failure that passes, as of a machine
// that is short of memory, is not remembered.
//
// # What it holds
//
//   - Files: everything can be read, but only the folders of Box.Write be changed, without
//     those of Box.Protect. The kernel decides after it has followed symbolic links.
//   - Kernel settings: nothing in /proc, in /sys and in file systems of their kind can be
//     changed, also by root, whatever Box.Write says. In /dev only the usual devices are
//     there (bubblewrap) or can be opened (Landlock).
//   - Other processes: no signals, no limits, no shared memory, messages or semaphores,
//     and no keyrings. With bubblewrap a command has its own of all but keyrings, with
//     Landlock none.
//   - Network: none. With bubblewrap, a command has a loopback interface of its own. With
//     Landlock there are no sockets at all, except pairs.
//   - Sockets of this machine, such as Docker's: a command cannot open one, wherever it is.
//   - Privileges: none are left, also for root, and none can be gained.
//
// Landlock cannot keep a command from changing the mode, owner and times of files that
// belong to the user, or from slowing down the user's other processes; before Linux 6.12
// not from sending them signals, either. It cannot except a folder from one that may be
// written to: there Wrap refuses.
package sandbox
