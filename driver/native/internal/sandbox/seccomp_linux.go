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
	atCall     = 0
	atArch     = 4
	atFirstArg = 16
)

// x32 marks calls of another table on the same processor.
const x32 = 0x40000000

// filter is a filter of system calls: sockets of other families than those fail, and so
// does io_uring, which could make them unseen, and every call in another processor's
// table. It is a list of instructions of the classic BPF.
func filter(families ...int) []unix.SockFilter {
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	load := func(at uint32) unix.SockFilter { return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }
	result := func(k uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, k) }
	// skip skips the next instructions if the value compares like this.
	skip := func(compare uint16, k uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jt: n}
	}
	const allow, fail = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	out := []unix.SockFilter{
		load(atArch), skip(unix.BPF_JEQ, arch(), 1), result(fail),
		load(atCall),
	}
	if runtime.GOARCH == "amd64" {
		out = append(out, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32, Jf: 1}, result(fail))
	}
	out = append(out,
		skip(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 2),
		skip(unix.BPF_JEQ, unix.SYS_SOCKET, 2),
		result(allow),
		result(fail),
		load(atFirstArg),
	)
	for _, f := range families {
		out = append(out, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(f), Jf: 1}, result(allow)) // small
	}
	return append(out, result(fail))
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
