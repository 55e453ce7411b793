package tools

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func drawn(t *testing.T, w, h int, encode func(*bytes.Buffer, image.Image) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := encode(&out, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestReadImage is that images are read as such, within bounds.
func TestReadImage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	small := drawn(t, 3, 2, func(w *bytes.Buffer, i image.Image) error { return png.Encode(w, i) })
	for name, c := range map[string]struct{ content, kind, about string }{
		"a.png":  {small, "image/png", "3 x 2 pixels"},
		"a.jpg":  {drawn(t, 5, 4, func(w *bytes.Buffer, i image.Image) error { return jpeg.Encode(w, i, nil) }), "image/jpeg", "5 x 4 pixels"},
		"a.gif":  {drawn(t, 7, 6, func(w *bytes.Buffer, i image.Image) error { return gif.Encode(w, i, nil) }), "image/gif", "7 x 6 pixels"},
		"a.webp": {"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00", "image/webp", "bytes]"},
		"a.txt":  {small, "image/png", "3 x 2 pixels"}, // the name does not count
	} {
		b.write(name, c.content)
		res := b.works("Read", input{"file_path": name})
		if len(res.Images) != 1 || res.Images[0].MediaType != c.kind || string(res.Images[0].Data) != c.content || !strings.Contains(res.Text, c.about) {
			t.Errorf("%s: %q, %d images", name, res.Text, len(res.Images))
		}
	}
	b.write("text.png", "I am text.\n")
	if res := b.works("Read", input{"file_path": "text.png"}); len(res.Images) > 0 || !strings.Contains(res.Text, "I am text.") {
		t.Errorf("%+v", res)
	}
	b.write("empty.png", "")
	if res := b.works("Read", input{"file_path": "empty.png"}); len(res.Images) > 0 {
		t.Errorf("%+v", res)
	}
	b.write("cut.png", small[:20])
	b.fails(b.prepare("Read", input{"file_path": "cut.png"}), "is damaged")
	b.write("big.png", small+strings.Repeat("x", ImageLimit))
	b.fails(b.prepare("Read", input{"file_path": "big.png"}), "make a smaller copy")
	b.write("wide.png", drawn(t, imageSide+1, 1, func(w *bytes.Buffer, i image.Image) error { return png.Encode(w, i) }))
	b.fails(b.prepare("Read", input{"file_path": "wide.png"}), "8001 x 1 pixels")
	b.write("bomb.png", small[:16]+"\x7f\xff\xff\xff\x7f\xff\xff\xff"+small[24:])
	b.fails(b.prepare("Read", input{"file_path": "bomb.png"}), "")
}
