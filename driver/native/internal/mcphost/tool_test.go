package mcphost

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// TestImages is that models get the images of a result that they take, by what they are and
// not by what the server says.
func TestImages(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\nand so on")
	content := []mcp.Content{
		&mcp.ImageContent{Data: png, MIMEType: "image/gif"},
		&mcp.ImageContent{Data: []byte("<svg>"), MIMEType: "image/png"},
		&mcp.ImageContent{Data: append(png, make([]byte, tools.ImageLimit)...), MIMEType: "image/png"},
		&mcp.TextContent{Text: "so"},
	}
	got := imagesOf(content)
	if len(got) != 1 || got[0].MediaType != "image/png" || string(got[0].Data) != string(png) {
		t.Errorf("%d images: %+v", len(got), got)
	}
	const not = "[an image of type image/png, which is not shown]"
	if text := textOf(content); text != "[an image of type image/gif]\n"+not+"\n"+not+"\nso" {
		t.Errorf("%q", text)
	}
	for range 10 {
		content = append(content, content[0])
	}
	if got := imagesOf(content); len(got) != maxImages {
		t.Errorf("%d images", len(got))
	}
}
