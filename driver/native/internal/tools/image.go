package tools

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"
)

const (
	// ImageLimit bounds an image that models are shown, in bytes. What APIs take is more, but
	// counts its longer encoding.
	ImageLimit = 2 << 20
	imageSide  = 8000 // pixels, which is what APIs take
)

// Image is an image for the model.
type Image struct {
	MediaType string
	Data      []byte
}

// ImageType is the media type of an image that models take, by its first bytes; empty if it
// is none.
func ImageType(start []byte) string {
	switch kind := http.DetectContentType(start); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// sizers read the sizes of images, by media type. Nothing in the standard library reads those
// of WebP.
var sizers = map[string]func(io.Reader) (image.Config, error){"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig}

// asImage is the result of reading an image. It reports false for a file that is none, of
// which nothing was used.
func (r *reading) asImage(f *os.File, size int64) (Result, bool, error) {
	start := make([]byte, 512)
	n, err := io.ReadFull(f, start)
	if err != nil && n == 0 {
		_, err = f.Seek(0, io.SeekStart)
		return Result{}, false, err
	}
	kind := ImageType(start[:n])
	if _, err := f.Seek(0, io.SeekStart); err != nil || kind == "" {
		return Result{}, false, err
	}
	if size > ImageLimit {
		return Result{}, true, fmt.Errorf("%s is an image of %d bytes; only those of at most %d can be shown: make a smaller copy with a command", r.place.shown, size, ImageLimit)
	}
	data, err := io.ReadAll(io.LimitReader(f, ImageLimit+1))
	if err != nil {
		return Result{}, true, problem(r.place, err)
	}
	about := fmt.Sprintf("[%s is an image of type %s, %d bytes", r.place.shown, kind, len(data))
	if size := sizers[kind]; size != nil {
		c, err := size(bytes.NewReader(data))
		switch {
		case err != nil:
			return Result{}, true, fmt.Errorf("%s begins like an image of type %s, but is damaged", r.place.shown, kind)
		case c.Width > imageSide || c.Height > imageSide:
			return Result{}, true, fmt.Errorf("%s is an image of %d x %d pixels; only those of at most %d on each side can be shown: make a smaller copy with a command", r.place.shown, c.Width, c.Height, imageSide)
		}
		about += fmt.Sprintf(", %d x %d pixels", c.Width, c.Height)
	}
	return Result{Text: about + "]\n", Images: []Image{{kind, data}}, Structured: structured(readFacts{Size: size})}, true, nil
}
