package access

import (
	"fmt"
	"io"
	"net/http"
)

// maxValues is how many values a JSON body may hold. What is made of one takes a hundred times
// the three bytes that it may have, so the size of a body alone bounds little.
const maxValues = 20_000

// ValuesError is that a body holds more values than it may.
type ValuesError struct{}

// Error implements error.
func (*ValuesError) Error() string {
	return fmt.Sprintf("the body holds more than %d values, which is the maximum", maxValues)
}

// Unwrap lets others, who do not know it, see a body that is too large.
func (*ValuesError) Unwrap() error { return &http.MaxBytesError{} }

// valuesReader fails once the JSON that is read through it holds too many values.
type valuesReader struct {
	io.ReadCloser

	values          int
	inText, escaped bool
}

// Read implements io.Reader.
func (r *valuesReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	for _, b := range p[:n] {
		switch {
		case r.escaped:
			r.escaped = false
		case r.inText && b == '\\':
			r.escaped = true
		case b == '"':
			r.inText = !r.inText
		case !r.inText && (b == ',' || b == '[' || b == '{'):
			r.values++
		}
	}
	if r.values > maxValues {
		return 0, &ValuesError{}
	}
	return n, err
}
