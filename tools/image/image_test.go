//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// compose reads the Compose file as Docker does, with its schema.
func compose(t *testing.T, environment types.Mapping) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: "../../deploy", ConfigFiles: []types.ConfigFile{{Filename: "../../deploy/compose.yaml"}}, Environment: environment.Clone(),
	}, func(o *loader.Options) { o.SetProjectName("terret", true) })
}

var chosen = types.Mapping{"TERRET_IMAGE": "terret:latest", "POSTGRES_PASSWORD": "throw-away"}

func TestCompose(t *testing.T) {
	t.Parallel()
	p, err := compose(t, chosen)
	if err != nil {
		t.Fatal(err)
	}
	node := p.Services["node"]
	if node.DependsOn["db"].Condition != types.ServiceConditionHealthy || p.Services["db"].HealthCheck == nil {
		t.Error("the node does not wait for the database")
	}
	if store := *node.Environment["TERRET_STORE"]; strings.Contains(store, "throw-away") {
		t.Errorf("the password is in the address: %s", store)
	}
	for name := range chosen {
		without := chosen.Clone()
		delete(without, name)
		if _, err := compose(t, without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestImage makes an image, unpacks it, and runs in it what the Compose file runs.
func TestImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options{program: filepath.Join(dir, "terret"), base: "scratch", arch: runtime.GOARCH, tag: "terret:test", out: filepath.Join(dir, "image.tar")}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", o.program, "./cmd/terret")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(o.out, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	unpack(t, mutate.Extract(image), root)
	in := &container{t: t, root: root, entry: file.Config.Entrypoint, env: file.Config.Env}
	if said, err := in.command(t.Context(), "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "terret ") {
		t.Errorf("version: %v: %s", err, said)
	}
	if os.Getuid() != 0 {
		t.Skip("the rest needs root, for chroot")
	}
	p, err := compose(t, chosen)
	if err != nil {
		t.Fatal(err)
	}
	certificate(t, filepath.Join(root, "tls"))
	args := strings.Split(strings.ReplaceAll(strings.Join(p.Services["node"].Command, "\n"), "0.0.0.0:7433", "127.0.0.1:0"), "\n")
	in.serve(args)
}

// container runs programs in an unpacked image: in it, if this is root.
type container struct {
	t          *testing.T
	root       string
	entry, env []string
}

func (c *container) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append(c.entry[1:len(c.entry):len(c.entry)], args...)
	if os.Getuid() != 0 {
		cmd := exec.CommandContext(ctx, filepath.Join(c.root, c.entry[0]), args...)
		cmd.Env = append(c.env, "TERRET_HOME="+c.t.TempDir())
		return cmd
	}
	cmd := exec.CommandContext(ctx, c.entry[0], args...)
	cmd.Path, cmd.Err = c.entry[0], nil
	cmd.Env, cmd.Dir = c.env, "/work"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root}
	return cmd
}

// serve starts a server, waits until it listens, and stops it.
func (c *container) serve(args []string) {
	c.t.Helper()
	cmd := c.command(c.t.Context(), args...)
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		w.Close()
	}()
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "listening on https://") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				c.t.Error(err)
			}
			said.WriteString("stopped\n")
		}
	}
	if err := <-ended; err != nil || !strings.Contains(said.String(), "stopped") {
		c.t.Errorf("%v: %v: %s", args, err, said.String())
	}
}

func unpack(t *testing.T, from io.ReadCloser, root string) {
	t.Helper()
	defer from.Close()
	for files := tar.NewReader(from); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name) // it is ours
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, h.FileInfo().Mode())
		} else {
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, text, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// certificate makes the files that the Compose file expects.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
}
