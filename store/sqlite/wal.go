package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Sizes in a write-ahead log of SQLite, see https://sqlite.org/fileformat2.html#walformat.
const (
	walHeader   = 32
	frameHeader = 24
	maxWAL      = 256 << 20 // that is looked at
)

// lostInWAL says what SQLite will leave out of a write-ahead log when it opens the file:
// it reads up to the first frame that is not whole, and drops all behind it without a
// word. That is right for what a crash cut off. It is a loss if transactions that were
// complete stand behind. The result is empty if there is nothing to say.
func lostInWAL(path string) (string, error) {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() <= walHeader || info.Size() > maxWAL {
		return "", err
	}
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", err
	}
	var order binary.ByteOrder
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
		order = binary.LittleEndian
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return fmt.Sprintf("the header of %s-wal is damaged, so what it holds (%d bytes) is lost", path, info.Size()), nil
	}
	page := int64(binary.BigEndian.Uint32(head[8:]))
	sum := checksum(order, [2]uint32{}, head[:24])
	if page < 512 || page > 65536 || sum != sumAt(head[24:]) {
		return fmt.Sprintf("the header of %s-wal is damaged, so what it holds (%d bytes) is lost", path, info.Size()), nil
	}
	frame := make([]byte, frameHeader+page)
	whole, lost, broken := 0, 0, false
	for {
		if _, err := io.ReadFull(f, frame); err != nil {
			break // the end, or a frame that was cut off
		}
		if string(frame[8:16]) != string(head[16:24]) {
			break // what an earlier generation left
		}
		commits := binary.BigEndian.Uint32(frame[4:]) != 0
		if !broken {
			sum = checksum(order, checksum(order, sum, frame[:8]), frame[frameHeader:])
			broken = sum != sumAt(frame[16:])
		}
		switch {
		case commits && broken:
			lost++
		case commits:
			whole++
		}
	}
	if lost == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s-wal is damaged after %d transactions: about %d that were stored after them are lost", path, whole, lost), nil
}

func sumAt(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// checksum continues one of SQLite's checksums.
func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
