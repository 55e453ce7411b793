package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where things are in what the kernel gives a filter (struct seccomp_data).
const (
	atCall = 0
	atArch = 4
)

// argument is where a call's argument is: the lower half, on the processors of arch.
func argument(n uint32) uint32 { return 16 + 8*n }

// x32 marks calls of another table on the same processor.
const x32 = 0x40000000

// shared are the calls by which processes of one machine share memory, messages and
// semaphores, without a file.
func shared() []uint32 {
	return []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
	}
}

// filter is a filter of system calls, as a list of instructions of the classic BPF. It
// refuses what would reach other programs or undo a restriction:
//
//   - sockets, but for the internet's if the command has a network of its own
//   - io_uring, which could make them unseen, and every call in another processor's table
//   - shared memory, messages and semaphores, unless the command has its own
//   - keyrings, which no namespace keeps apart
//   - limits of another process
//   - new user namespaces: their root could mount kernel settings again. A filter cannot
//     see what clone3 is asked for, so that programs are told to use clone.
func filter(own bool) []unix.SockFilter {
	instruction := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	load := func(at uint32) unix.SockFilter { return instruction(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }
	result := func(k uint32) unix.SockFilter { return instruction(unix.BPF_RET|unix.BPF_K, k) }
	// The next instruction counts only if the value is k, is not k, or has a bit of k.
	is := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: 1}
	}
	isNot := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: 1}
	}
	has := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: k, Jf: 1}
	}
	allow, fail := result(unix.SECCOMP_RET_ALLOW), result(unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES))

	out := []unix.SockFilter{load(atArch), isNot(arch()), fail, load(atCall)}
	if runtime.GOARCH == "amd64" {
		out = append(out, has(x32), fail)
	}
	// on says what happens to a call; the last instruction must be a result.
	on := func(call uint32, then ...unix.SockFilter) {
		skip := is(call)
		skip.Jf = uint8(len(then)) // a few
		out = append(append(out, skip), then...)
	}
	refused := []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}
	if !own {
		refused = append(refused, shared()...)
	}
	for _, call := range refused {
		on(call, fail)
	}
	socket := []unix.SockFilter{load(argument(0))}
	if own {
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
			socket = append(socket, is(family), allow)
		}
	}
	on(unix.SYS_SOCKET, append(socket, fail)...)
	on(unix.SYS_PRLIMIT64, load(argument(0)), is(0), allow,
		load(argument(2)), isNot(0), fail, load(argument(2)+4), isNot(0), fail, allow) // without a new limit it only looks
	on(unix.SYS_UNSHARE, load(argument(0)), has(unix.CLONE_NEWUSER), fail, allow)
	on(unix.SYS_CLONE, load(argument(0)), has(unix.CLONE_NEWUSER), fail, allow)
	on(unix.SYS_CLONE3, result(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	return append(out, allow)
}

// arch is this processor, as filters see it.
func arch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return 0 // no call has it, so that everything fails
}

// encode is the filter as the kernel takes it from a file.
func encode(f []unix.SockFilter) []byte {
	var out []byte
	for _, i := range f {
		out = binary.NativeEndian.AppendUint16(out, i.Code)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out
}

// load applies the filter to this thread, and to what it becomes.
func load(f []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]} // a few
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("the kernel refuses the filter of system calls: %w", errno)
	}
	return nil
}
