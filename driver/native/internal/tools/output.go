package tools

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	outputLimit   = 30_000    // characters of output in a result, the mark included
	outputKeep    = 128 << 10 // bytes that are kept at each end
	progressLimit = 4 << 10   // bytes of new output that a progress shows
	readSize      = 64 << 10
)

// output keeps the head and the tail of a stream in bounded memory. It is safe
// for concurrent use.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // what follows head, or the end of it
	total int64  // bytes
	cut   int64  // characters that are in neither
	shown int64  // bytes that progress has shown or skipped
	spill spill  // has everything, once head and tail have not
}

// readFrom reads r until it ends or fails.
func (o *output) readFrom(r io.Reader) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		o.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(b))
	if o.spill.file != nil {
		o.spill.write(nil, b)
	}
	room := min(outputKeep-len(o.head), len(b))
	o.head = append(o.head, b[:room]...)
	o.tail = append(o.tail, b[room:]...)
	if len(o.tail) > 2*outputKeep {
		if o.cut == 0 && o.spill.file == nil {
			o.spill.write([][]byte{o.head}, o.tail)
		}
		cut := len(o.tail) - outputKeep
		o.cut += int64(characters(o.tail[:cut]))
		o.tail = o.tail[:copy(o.tail, o.tail[cut:])]
	}
}

// characters counts the bytes that begin a character, eight at a time: a command
// can print gigabytes that nobody will see.
func characters(b []byte) int {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		n -= bits.OnesCount64(x >> 7 &^ (x >> 6) & 0x0101010101010101)
	}
	for _, c := range b {
		if !utf8.RuneStart(c) {
			n--
		}
	}
	return n
}

// text is what is kept, clean and within the limit, and whether something is
// missing.
func (o *output) text() (text string, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut == 0 {
		return cutMiddle(clean(append(slices.Clip(o.head), o.tail...)), "", 0)
	}
	return cutMiddle(clean(o.head), clean(o.tail), o.cut)
}

// whole ends the file that has all of the output, and says where it is. If something is
// missing in the text, there is one.
func (o *output) whole(missing bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing && o.spill.file == nil {
		o.spill.write([][]byte{o.head}, o.tail)
	}
	return o.spill.close()
}

// cutMiddle keeps outputLimit characters of head, missing characters, and tail.
func cutMiddle(head, tail string, missing int64) (text string, cut bool) {
	if missing == 0 {
		head += tail
		if utf8.RuneCountInString(head) <= outputLimit {
			return head, false
		}
		half := len(head) / 2
		for half < len(head) && !utf8.RuneStart(head[half]) {
			half++
		}
		head, tail = head[:half], head[half:]
	}
	const each = (outputLimit - 60) / 2 // 60 for the mark
	first := cutEnd(head, each, "")
	end := len(tail)
	for n := 0; n < each && end > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(tail[:end])
		end -= size
	}
	missing += int64(utf8.RuneCountInString(head[len(first):]) + utf8.RuneCountInString(tail[:end]))
	return fmt.Sprintf("%s\n[... %d characters cut ...]\n%s", strings.TrimSuffix(first, "\n"), missing, tail[end:]), true
}

// news is the end of what came since the last news, limit bytes at most; empty if nothing
// did. final says that no more will come.
func (o *output) news(limit int, final bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := max(o.shown, o.total-int64(limit))
	b := o.last(int(o.total - from))
	if from > o.shown { // something was skipped, perhaps half a character
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b, from = b[1:], from+1
		}
	}
	text, used := cleanPart(b, final)
	if used == 0 && len(b) > progressLimit/2 {
		text, used = cleanPart(b, true)
	}
	o.shown = from + int64(used)
	return text
}

// last returns the last n bytes, n at most outputKeep.
func (o *output) last(n int) []byte {
	if n <= len(o.tail) {
		return o.tail[len(o.tail)-n:]
	}
	n -= len(o.tail)
	return append(o.head[len(o.head)-n:len(o.head):len(o.head)], o.tail...)
}
