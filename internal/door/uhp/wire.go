package uhp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// response is a task, in the shape of OpenAI's Responses API.
type response struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	CreatedAt  int64             `json:"created_at"`
	Completed  int64             `json:"completed_at,omitempty"`
	Status     string            `json:"status"`
	Background bool              `json:"background"`
	Error      *fault            `json:"error"`
	Incomplete *incomplete       `json:"incomplete_details"`
	Previous   *string           `json:"previous_response_id"`
	Model      string            `json:"model"`
	Output     []*item           `json:"output"`
	Store      bool              `json:"store"`
	Usage      *usage            `json:"usage"`
	Metadata   map[string]any    `json:"metadata"`
	Parallel   bool              `json:"parallel_tool_calls"`
	ToolChoice string            `json:"tool_choice"`
	Tools      []json.RawMessage `json:"tools"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type usage struct {
	Input         int64            `json:"input_tokens"`
	InputDetails  map[string]int64 `json:"input_tokens_details"`
	Output        int64            `json:"output_tokens"`
	OutputDetails map[string]int64 `json:"output_tokens_details"`
	Total         int64            `json:"total_tokens"`
	CacheRead     int64            `json:"cache_read_tokens,omitempty"`
	CacheWrite    int64            `json:"cache_write_tokens,omitempty"`
}

// The statuses of tasks.
const (
	inProgress = "in_progress"
	completed  = "completed"
	failed     = "failed"
	unfinished = "incomplete"
	cancelled  = "cancelled"
)

// item is one thing that a task put out.
type item struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Status    string  `json:"status,omitempty"`
	Role      string  `json:"role,omitempty"`
	Content   []part  `json:"content,omitzero"`
	Summary   []part  `json:"summary,omitzero"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
}

// part is a piece of a message or of a summary.
type part struct {
	Type        string       `json:"type"`
	Text        string       `json:"text"`
	Annotations []annotation `json:"annotations,omitzero"`
}

// annotation cites a file that the task changed.
type annotation struct {
	Type      string `json:"type"`
	Container string `json:"container_id"`
	File      string `json:"file_id"`
	Filename  string `json:"filename"`
	URL       string `json:"download_url"`
	Start     int    `json:"start_index"`
	End       int    `json:"end_index"`
}

// event is one event of a stream.
type event struct {
	Type            string      `json:"type"`
	Number          int         `json:"sequence_number"`
	Response        *response   `json:"response,omitempty"`
	OutputIndex     *int        `json:"output_index,omitempty"`
	ItemID          string      `json:"item_id,omitempty"`
	ContentIndex    *int        `json:"content_index,omitempty"`
	SummaryIndex    *int        `json:"summary_index,omitempty"`
	AnnotationIndex *int        `json:"annotation_index,omitempty"`
	Item            *item       `json:"item,omitempty"`
	Part            *part       `json:"part,omitempty"`
	Annotation      *annotation `json:"annotation,omitempty"`
	Delta           *string     `json:"delta,omitempty"`
	Text            *string     `json:"text,omitempty"`
	Arguments       *string     `json:"arguments,omitempty"`
}

// keepAlive is the longest silence of a stream.
const keepAlive = 15 * time.Second

// sender writes a stream of server-sent events. It is safe for concurrent use.
type sender struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	after int // only events with a greater number
	err   error

	quiet *time.Ticker
	stop  chan struct{}
	wait  sync.WaitGroup
}

// newSender begins a stream. The caller must close it.
func newSender(w http.ResponseWriter, after int) *sender {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s := &sender{w: w, after: after, quiet: time.NewTicker(keepAlive), stop: make(chan struct{})}
	_ = http.NewResponseController(w).Flush() // tells the reader that it is connected
	s.wait.Go(func() {
		for {
			select {
			case <-s.quiet.C:
				s.write(": keep-alive\n\n")
			case <-s.stop:
				return
			}
		}
	})
	return s
}

func (s *sender) close() {
	close(s.stop)
	s.wait.Wait()
	s.quiet.Stop()
}

func (s *sender) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
}

// send writes an event; the first error is that of all later ones.
func (s *sender) send(e event) error {
	if e.Number > s.after {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		s.write("event: " + e.Type + "\nid: " + strconv.Itoa(e.Number) + "\ndata: " + string(text) + "\n\n")
		s.quiet.Reset(keepAlive)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
