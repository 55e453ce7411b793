//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// cpuTime is what this process has used of all processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// apart starts a program in a session of its own, as Terret starts agents: Linux
// schedules a session as a group, so the same program is slower or faster in another.
func apart(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
