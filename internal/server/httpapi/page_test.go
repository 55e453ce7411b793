package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// A page of messages is written while it is read, and whatever goes wrong cannot be
// taken for a whole page.
func TestMessagesAreStreamed(t *testing.T) {
	t.Parallel()
	const size, count = 100 << 10, 30
	failure := errors.New("the disk is gone")
	told := func(w *httptest.ResponseRecorder, failAt int) iter.Seq2[toldMessage, error] {
		return func(yield func(toldMessage, error) bool) {
			for i := range count {
				if i == failAt {
					yield(toldMessage{}, failure)
					return
				}
				if w.Body.Len() < (i-1)*size {
					t.Errorf("message %d is read when only %d bytes are written", i, w.Body.Len())
				}
				m := terret.Message{MessageID: fmt.Sprint(i), Blocks: []terret.Block{terret.Text(strings.Repeat("x", size))}}
				if !yield(toldMessage{m, int64(i + 1), size}, nil) {
					return
				}
			}
		}
	}
	for limit, next := range map[int]string{count: "", count - 1: "29", 1: "1"} {
		w := httptest.NewRecorder()
		writeMessages(w, told(w, -1), limit)
		var page terret.Page[terret.Message]
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) != limit || page.Next != next {
			t.Errorf("limit %d: %d messages, next %q, %v", limit, len(page.Items), page.Next, err)
		}
	}
	w := httptest.NewRecorder()
	writeMessages(w, func(func(toldMessage, error) bool) {}, 1)
	if w.Body.String() != "{\"items\":[]}\n" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("no messages: %q, %v", w.Body, w.Header())
	}
	w = httptest.NewRecorder()
	writeMessages(w, told(w, 0), count)
	if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Type") != problemType {
		t.Errorf("an error at once: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("an error later: %v", err)
		}
	}()
	writeMessages(w, told(w, 3), count)
}
