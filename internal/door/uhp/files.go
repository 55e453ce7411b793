package uhp

import (
	"archive/zip"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

const (
	maxFile      = 20 << 20  // bytes of an uploaded file
	maxUploads   = 100 << 20 // bytes of all of them
	maxFiles     = 1000
	uploadLife   = 24 * time.Hour
	maxArtifacts = 2000 // that are told of a session
)

// uploads are files that wait to be the input of a task. The zero value is ready to use.
type uploads struct {
	mu    sync.Mutex
	files map[string]uploaded
	order []string // the oldest first
	size  int64
}

type uploaded struct {
	owner, name, media string
	data               []byte
	at                 time.Time
}

// add keeps a file, in place of the oldest ones if there is no room.
func (u *uploads) add(f uploaded) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	id := prefixFile + hex.EncodeToString(random[:])
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.order) > 0 && (len(u.order) >= maxFiles || u.size+int64(len(f.data)) > maxUploads || f.at.Sub(u.files[u.order[0]].at) > uploadLife) {
		u.size -= int64(len(u.files[u.order[0]].data))
		delete(u.files, u.order[0])
		u.order = u.order[1:]
	}
	if u.files == nil {
		u.files = map[string]uploaded{}
	}
	u.files[id], u.order = f, append(u.order, id)
	u.size += int64(len(f.data))
	return id
}

// get returns a file to whoever uploaded it.
func (u *uploads) get(authorization, id string) (uploaded, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f, ok := u.files[id]
	return f, ok && f.owner == ownerOf(authorization) && time.Since(f.at) < uploadLife
}

func tooLarge() *fault {
	f := refuse(http.StatusRequestEntityTooLarge, "file_too_large", "file", "The file is too large.")
	f.Detail = map[string]any{"max_bytes": maxFile}
	return f
}

func (d *Door) upload(c *call) error {
	me, err := c.Me(c.ctx)
	if err != nil {
		return err
	}
	if me.Scope == "view" {
		return refuse(http.StatusForbidden, "insufficient_scope", "", "This token may only look.")
	}
	form, err := c.r.MultipartReader()
	if err != nil {
		return invalid("", "Send the file as multipart/form-data.")
	}
	var got *uploaded
	for range 20 {
		p, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bodyFault(err)
		}
		if p.FormName() != "file" {
			if _, err := io.Copy(io.Discard, io.LimitReader(p, 1<<20)); err != nil {
				return bodyFault(err)
			}
			continue
		}
		data, err := io.ReadAll(io.LimitReader(p, maxFile+1))
		if err != nil {
			return bodyFault(err)
		}
		if len(data) > maxFile {
			return tooLarge()
		}
		media, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		got = &uploaded{ownerOf(c.r.Header.Get("Authorization")), cleanName(p.FileName()), media, data, time.Now()}
	}
	if got == nil {
		return invalid("file", "The form has no file.")
	}
	id := d.uploads.add(*got)
	return c.answer(map[string]any{
		"id": id, "object": "file", "filename": got.name, "bytes": len(got.data), "created_at": got.at.Unix(), "purpose": "user_data", "status": "processed",
		"expires_at": got.at.Add(uploadLife).Unix(),
	})
}

// artifact is a file that a session's turns made or changed.
type artifact struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Container string `json:"container_id"`
	Filename  string `json:"filename"`
	CreatedAt int64  `json:"created_at"`
}

// artifacts are those of all turns: what the agent told, and what the folder's snapshots show,
// which commands have changed, too.
func (c *call) artifacts(s terret.Session) ([]artifact, error) {
	found := map[string]int64{}
	note := func(name, change string, at terret.Time) {
		if change == "deleted" {
			delete(found, name)
			return
		}
		if _, known := found[name]; !known {
			found[name] = at.Unix()
		}
	}
	for entry, err := range c.Events(c.ctx, client.EventQuery{Session: s.ID, Kinds: []terret.Kind{terret.KindFileChanged}}) {
		if err != nil {
			return nil, err
		}
		ev, err := entry.Decode()
		if err != nil {
			continue
		}
		if f, ok := ev.Data.(terret.FileChanged); ok {
			if name, ok := inFolder(s.Cwd, f.Path); ok {
				note(name, f.Change, ev.Time)
			}
		}
	}
	turns, err := c.Turns(c.ctx, s.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		if !t.Changed || t.After == "" || t.EndedAt == nil {
			continue
		}
		changes, err := c.Changes(c.ctx, s.ID, t.ID, false)
		if err != nil {
			continue // its snapshots are gone; what the agent told is left
		}
		for _, f := range changes.Items {
			note(f.Path, f.Change, *t.EndedAt)
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []artifact{}
	for _, name := range names[:min(len(names), maxArtifacts)] {
		out = append(out, artifact{artifactID(s.ID, name), "file", containerID(s.ID), name, found[name]})
	}
	return out, nil
}

func (d *Door) listFiles(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	list, err := c.artifacts(s)
	if err != nil {
		return err
	}
	return c.answer(map[string]any{"files": list})
}

// artifact finds the file of a path's container and id. A name from the log may have become a
// link since: the server opens it only within the folder.
func (c *call) artifact() (terret.Session, artifact, error) {
	missing := noFile("", c.r.PathValue("file"))
	s, err := c.known(sessionOf(prefixContainer, c.id()), missing)
	if err != nil {
		return s, artifact{}, err
	}
	list, err := c.artifacts(s)
	if err != nil {
		return s, artifact{}, err
	}
	for _, a := range list {
		if a.ID == c.r.PathValue("file") {
			return s, a, nil
		}
	}
	return s, artifact{}, missing
}

func (d *Door) download(c *call) error {
	s, a, err := c.artifact()
	if err != nil {
		return err
	}
	body, err := c.open(s, a)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	media := mime.TypeByExtension(path.Ext(a.Filename))
	if media == "" {
		media = "application/octet-stream"
	}
	c.attach(media, path.Base(a.Filename))
	if _, err := io.Copy(c.w, body); err != nil {
		panic(http.ErrAbortHandler) // a short file would look complete
	}
	return nil
}

// open opens an artifact.
func (c *call) open(s terret.Session, a artifact) (io.ReadCloser, error) {
	body, err := c.Download(c.ctx, s.ID, a.Filename)
	if err != nil {
		switch terret.AsError(err).Code { //nolint:exhaustive // others are told as they are
		case terret.CodeNotFound, terret.CodeForbidden, terret.CodeInvalidRequest:
			return nil, noFile("", a.ID)
		}
	}
	return body, err
}

// attach says that what follows is a file to be kept, not to be looked into.
func (c *call) attach(media, name string) {
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

func (d *Door) preview(c *call) error {
	if _, _, err := c.artifact(); err != nil {
		return err
	}
	return refuse(http.StatusNotImplemented, "preview_unavailable", "", "This server does not render previews.")
}

func (d *Door) archive(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	list, err := c.artifacts(s)
	if err != nil {
		return err
	}
	c.attach("application/zip", sessionID(s.ID)+".zip")
	z := zip.NewWriter(c.w)
	for _, a := range list {
		body, err := c.open(s, a)
		if err != nil {
			continue // it is gone
		}
		to, err := z.CreateHeader(&zip.FileHeader{Name: strings.ReplaceAll(a.Filename, "\\", "_"), Method: zip.Deflate, Modified: time.Unix(a.CreatedAt, 0)})
		if err == nil {
			_, err = io.Copy(to, body)
		}
		_ = body.Close()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if err := z.Close(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
