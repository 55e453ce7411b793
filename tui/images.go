package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// image is a picture that goes with what is written.
type image struct {
	name, kind string
	bytes      []byte
}

// maxImages is how many bytes the pictures of a message may have: with the text and as base64
// they must fit into what the server takes, which is 32 MB.
const maxImages = 20 << 20

// isImage reports whether a path is one of a picture, by its name.
func isImage(path string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(path)))
}

// imagePaths are the paths of pictures of which a pasted text consists, as terminals paste
// dragged files: with quotes, with escaped spaces, as URLs, or as they are. It is nil if there
// is anything else.
func imagePaths(text string) []string {
	text = strings.TrimSpace(text)
	words := pathWords(text)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return !isImage(w) }) {
		if words = []string{text}; strings.ContainsAny(text, "\n'\"\\") || !isImage(text) || !filepath.IsAbs(text) {
			return nil
		}
	}
	for i, w := range words {
		if u, err := url.Parse(w); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
			words[i] = u.Path
		} else if strings.Contains(w, "://") {
			return nil
		}
	}
	return words
}

// pathWords splits a text as a shell does; it is nil if a quote is open.
func pathWords(text string) (words []string) {
	var word strings.Builder
	quote, begun, escaped := rune(0), false, false
	flush := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			flush()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil
	}
	flush()
	return words
}

// takesImages reports whether the agent can be shown pictures. For a new session whose agent
// the server chooses, one that it may choose must; if it chooses another, nothing is sent, and
// the draft is there again.
func (m *model) takesImages() bool {
	name := m.draftOf.Agent
	if m.conv != nil {
		name = m.session.Agent
	}
	return slices.ContainsFunc(m.agents, func(a terret.Probe) bool {
		return (a.Agent == name || name == "" && a.Found) && a.Capabilities.Has(terret.CanAttachments)
	})
}

// attached are pictures that were read, or why not.
type attached struct {
	to      *composer
	text    string // that stood for them
	instead bool   // the text is in the draft, and makes room for them
	images  []image
	err     error
}

// attachPaths reads the pictures that a person has pasted the paths of.
func (m *model) attachPaths(text string, paths []string) tea.Cmd {
	to, cwd, home := m.compose, firstOf(m.session.Cwd, m.draftOf.Cwd), environ(m.cfg.Environ, "HOME")
	to.reading++
	return func() tea.Msg {
		out := attached{to: to, text: text}
		for _, p := range paths {
			if rest, ok := strings.CutPrefix(p, "~/"); ok {
				p = filepath.Join(home, rest)
			} else if !filepath.IsAbs(p) {
				p = filepath.Join(cwd, p)
			}
			var one image
			if one, out.err = readImage(p); out.err != nil {
				return out
			}
			out.images = append(out.images, one)
		}
		return out
	}
}

func readImage(path string) (image, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return image{}, err
	case !info.Mode().IsRegular():
		return image{}, errors.New(path + " is no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return image{}, err
	}
	defer f.Close()
	return imageFrom(filepath.Base(path), f)
}

// imageFrom reads a picture. What it is, its bytes say.
func imageFrom(name string, from io.Reader) (image, error) {
	all, err := io.ReadAll(io.LimitReader(from, maxImages+1))
	kind := http.DetectContentType(all)
	switch {
	case err != nil:
		return image{}, err
	case len(all) > maxImages:
		return image{}, fmt.Errorf("%s is larger than %s, which is what a message takes", name, bytesOf(maxImages))
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return image{}, errors.New(name + " is no picture, whatever its name says")
	}
	return image{name, kind, all}, nil
}

// attachFile attaches a picture of the session's folder that was completed with @.
func (m *model) attachFile(path string) tea.Cmd {
	to, id := m.compose, m.session.ID
	to.reading++
	read := m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		from, err := c.Download(ctx, id, path)
		if err != nil {
			return nil, err
		}
		defer from.Close()
		one, err := imageFrom(filepath.Base(path), from)
		return attached{to: to, text: "@" + path + " ", instead: true, images: []image{one}}, err
	})
	return func() tea.Msg {
		msg := read()
		if f, no := msg.(failed); no {
			return attached{to: to, instead: true, err: f.err}
		}
		return msg
	}
}

// attach takes pictures that were read. If they cannot be had, the text stays.
func (m *model) attach(a attached) {
	c := a.to
	c.reading--
	size := 0
	for _, i := range append(slices.Clone(c.images), a.images...) {
		size += len(i.bytes)
	}
	if a.err == nil && size > maxImages {
		a.err = fmt.Errorf("the pictures are larger than %s together, which is what a message takes", bytesOf(maxImages))
	}
	switch at := strings.Index(c.Text, a.text); {
	case a.err != nil:
		if !errors.Is(a.err, fs.ErrNotExist) { // then it is text that looks like a path
			m.say(needs, a.err.Error())
		}
		if !a.instead {
			c.insert(a.text)
		}
		return
	case a.instead && at >= 0:
		was := c.At
		c.Change(at, at+len(a.text), "")
		if was > at {
			was = max(at, was-len(a.text))
		}
		c.Move(was)
	}
	c.images = append(c.images, a.images...)
}

// detach removes the last picture from an empty draft.
func (c *composer) detach() bool {
	if c.Text != "" || len(c.images) == 0 {
		return false
	}
	c.images = c.images[:len(c.images)-1]
	return true
}

// takeImages returns the pictures, and begins anew without them.
func (c *composer) takeImages() []image {
	out := c.images
	c.images = nil
	return out
}

// turnOf is a prompt with its pictures.
func turnOf(said, when string, with []image) client.NewTurn {
	if len(with) == 0 {
		return client.NewTurn{Prompt: said, When: when}
	}
	n := client.NewTurn{When: when}
	if said != "" {
		n.Blocks = append(n.Blocks, terret.Text(said))
	}
	for _, i := range with {
		n.Blocks = append(n.Blocks, terret.Block{Type: terret.BlockImage, Name: i.name, MediaType: i.kind, Bytes: i.bytes})
	}
	return n
}

const imageRows = 3

// attachments are the rows of the pictures that go with what is written.
func (m *model) attachments() []line {
	var rows []line
	for i, one := range m.compose.images {
		if i == imageRows {
			rows = append(rows, text(dim, fmt.Sprintf("   and %d more", len(m.compose.images)-i)))
			break
		}
		rows = append(rows, join(text(dim, "   image: "), text(plain, oneLine(one.name)), text(dim, " "+bytesOf(len(one.bytes)))))
	}
	if len(rows) > 0 {
		last := &rows[len(rows)-1]
		how := text(dim, " "+m.theme.signs.dot+" Backspace on the empty line removes it")
		if last.width()+how.width() >= m.width {
			how = text(dim, " "+m.theme.signs.dot+" Backspace removes it")
		}
		*last = join(*last, how)
	}
	for i := range rows {
		rows[i] = rows[i].cut(m.width - 1)
	}
	return rows
}

func bytesOf(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
