package uhp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// task is what a request asks for. Fields that are not here are ignored, as the protocol
// says.
type task struct {
	Input        json.RawMessage   `json:"input"`
	Model        string            `json:"model"`
	Metadata     map[string]any    `json:"metadata"`
	Stream       bool              `json:"stream"`
	Previous     *string           `json:"previous_response_id"`
	Instructions *string           `json:"instructions"`
	MaxTokens    *int64            `json:"max_output_tokens"`
	MaxStep      *int              `json:"max_step"`
	Seconds      *int              `json:"timeout_seconds"`
	Tools        []json.RawMessage `json:"tools"`
	Background   *bool             `json:"background"`
}

// longest is how long a task may take if nobody says otherwise, and at most.
const (
	usualSeconds   = 24 * 60 * 60
	longestSeconds = 7 * usualSeconds
)

// read decodes a body.
func (c *call) read(v any) error {
	raw, err := io.ReadAll(c.r.Body)
	if err != nil {
		return bodyFault(err)
	}
	return decode(raw, v)
}

func bodyFault(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		f := refuse(http.StatusRequestEntityTooLarge, "file_too_large", "", "The request is too large.")
		if large.Limit > 0 { // else it holds too many values
			f.Detail = map[string]any{"max_bytes": large.Limit}
		}
		return f
	}
	return invalid("", "The body ended early; send the request again.")
}

func decode(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(wrong.Field, "The value of '"+short(wrong.Field)+"' has the wrong type.")
	}
	if err != nil {
		return invalid("", "The body is not valid JSON.")
	}
	return nil
}

func (t *task) check() error {
	for name, v := range map[string]*int{"max_step": t.MaxStep, "timeout_seconds": t.Seconds} {
		if v != nil && *v < 1 {
			return invalid(name, "It must be at least 1.")
		}
	}
	switch {
	case t.MaxTokens != nil && *t.MaxTokens < 1:
		return invalid("max_output_tokens", "It must be at least 1.")
	case t.Seconds != nil && *t.Seconds > longestSeconds:
		return invalid("timeout_seconds", "It must be at most "+strconv.Itoa(longestSeconds)+".")
	case len(t.Tools) > 0:
		// To leave them out would make the caller wait for calls that never come.
		return refuse(http.StatusUnprocessableEntity, "terret_tools_unsupported", "tools", "A harness has its own tools; attach an MCP server to the harness instead.")
	}
	return nil
}

// inputItem is a message of a request, or a piece of one.
type inputItem struct {
	Type     string          `json:"type"`
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"`
	Text     string          `json:"text"`
	Filename string          `json:"filename"`
	FileData string          `json:"file_data"`
	FileID   string          `json:"file_id"`
	FileURL  string          `json:"file_url"`
	ImageURL json.RawMessage `json:"image_url"`
}

// blocks is the input as a prompt.
func (d *Door) blocks(owner string, raw json.RawMessage) ([]terret.Block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		if strings.TrimSpace(text) == "" {
			return nil, invalid("input", "The input is empty.")
		}
		return []terret.Block{terret.Text(text)}, nil
	}
	var items []inputItem
	if len(raw) == 0 || raw[0] != '[' {
		return nil, invalid("input", "The input must be a text or a list of items.")
	}
	if err := decode(raw, &items); err != nil {
		return nil, invalid("input", err.Error())
	}
	var out []terret.Block
	for i, it := range items {
		at := "input[" + strconv.Itoa(i) + "]"
		if it.Type != "" && it.Type != "message" {
			b, err := d.block(owner, at, it)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
			continue
		}
		if it.Role == "assistant" {
			return nil, invalid(at+".role", "A task begins with words of a user; to continue a conversation, send previous_response_id.")
		}
		var words string
		if json.Unmarshal(it.Content, &words) == nil {
			out = append(out, terret.Text(words))
			continue
		}
		var parts []inputItem
		if err := decode(it.Content, &parts); err != nil {
			return nil, invalid(at+".content", "The content must be a text or a list of parts.")
		}
		for j, p := range parts {
			b, err := d.block(owner, at+".content["+strconv.Itoa(j)+"]", p)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	for _, b := range out {
		if b.Type != terret.BlockText || strings.TrimSpace(b.Text) != "" {
			return out, nil
		}
	}
	return nil, invalid("input", "The input is empty.")
}

func (d *Door) block(owner, at string, p inputItem) (terret.Block, error) {
	switch p.Type {
	case "input_text", "text":
		return terret.Text(p.Text), nil
	case "input_file":
		return d.file(owner, at, p, p.FileData, p.FileURL)
	case "input_image":
		var url string
		if len(p.ImageURL) > 0 && string(p.ImageURL) != "null" {
			if err := decode(p.ImageURL, &url); err != nil {
				return terret.Block{}, invalid(at+".image_url", "It must be an address.")
			}
		}
		if strings.HasPrefix(url, "data:") {
			return d.file(owner, at, p, url, "")
		}
		return d.file(owner, at, p, "", url)
	}
	return terret.Block{}, invalid(at+".type", "Unknown type '"+short(p.Type)+"'; use input_text, input_file or input_image.")
}

// file is a file of the input: given in place, uploaded before, or to be fetched by the agent.
func (d *Door) file(owner, at string, p inputItem, data, url string) (terret.Block, error) {
	name := cleanName(p.Filename)
	switch {
	case data != "":
		media, raw, err := dataURL(data)
		if err != nil {
			return terret.Block{}, invalid(at+".file_data", err.Error())
		}
		return content(name, media, raw), nil
	case p.FileID != "":
		f, ok := d.uploads.get(owner, p.FileID)
		if !ok {
			return terret.Block{}, noFile(at+".file_id", p.FileID)
		}
		if name == "" {
			name = f.name
		}
		return content(name, f.media, f.data), nil
	case strings.HasPrefix(url, "https://"):
		b := terret.Block{Type: terret.BlockDocument, Name: name, URL: url}
		if p.Type == "input_image" {
			b.Type = terret.BlockImage
		}
		return b, nil
	}
	return terret.Block{}, invalid(at, "Give the file as file_data, as a file_id or as an https address.")
}

// cleanName is the last part of a name that a caller gave.
func cleanName(name string) string {
	name = strings.ReplaceAll(name, "\\", "/")
	name = name[strings.LastIndex(name, "/")+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`"<>`, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if runes := []rune(name); len(runes) > 100 {
		name = string(runes[:100])
	}
	return strings.TrimLeft(name, "-. ")
}

// dataURL decodes a data URL, or bare base64.
func dataURL(s string) (media string, raw []byte, err error) {
	if rest, ok := strings.CutPrefix(s, "data:"); ok {
		head, body, ok := strings.Cut(rest, ",")
		if !ok || !strings.HasSuffix(head, ";base64") {
			return "", nil, errors.New("A data URL must be base64.") //nolint:staticcheck // shown to people
		}
		if media, _, err = mime.ParseMediaType(strings.TrimSuffix(head, ";base64")); err != nil {
			media = ""
		}
		s = body
	}
	if raw, err = base64.StdEncoding.DecodeString(s); err != nil {
		return "", nil, errors.New("The file is not valid base64.") //nolint:staticcheck // shown to people
	}
	return media, raw, nil
}

// content is a file as agents take it: text as text, which all of them read, and the rest as
// images and documents.
func content(name, media string, raw []byte) terret.Block {
	if media == "" || media == "application/octet-stream" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(raw))
	}
	switch {
	case strings.HasPrefix(media, "image/"):
		return terret.Block{Type: terret.BlockImage, MediaType: media, Bytes: raw, Name: name}
	case utf8.Valid(raw) && !strings.Contains(string(raw), "\x00"):
		if name == "" {
			name = "file"
		}
		return terret.Text("\n<file name=\"" + name + "\">\n" + string(raw) + "\n</file>\n")
	}
	return terret.Block{Type: terret.BlockDocument, MediaType: media, Bytes: raw, Name: name}
}

// inPlace is the address of a file, or the file itself as one.
func inPlace(b terret.Block) string {
	if b.URL != "" {
		return b.URL
	}
	return "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)
}
