// Command image makes a container image of terret without a daemon: the program on top of
// a base image, as a file that `docker load` and `podman load` read.
//
//	go run ./image -program terret -base docker.io/library/node:22-bookworm -o image.tar
//
// The base scratch is nothing at all, and needs no network.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const inside = "usr/local/bin/terret" // where the program is in the image

func main() {
	var o options
	flag.StringVar(&o.program, "program", "", "the program, built for Linux without cgo")
	flag.StringVar(&o.base, "base", "scratch", "the image to put it on; scratch is none")
	flag.StringVar(&o.arch, "arch", "amd64", "the processor that it is for")
	flag.StringVar(&o.tag, "tag", "terret:latest", "the name of the image")
	flag.StringVar(&o.out, "o", "image.tar", "the file to write")
	flag.Parse()
	if err := build(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type options struct{ program, base, arch, tag, out string }

func build(ctx context.Context, o options) error {
	tag, err := name.NewTag(o.tag)
	if err != nil {
		return err
	}
	image, err := base(ctx, o)
	if err != nil {
		return err
	}
	layer, err := layer(o.program)
	if err != nil {
		return err
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", o.arch
	file.Config.Entrypoint, file.Config.Cmd = []string{"/" + inside}, nil
	file.Config.Env = append(file.Config.Env, "TERRET_HOME=/data")
	file.Config.Volumes = map[string]struct{}{"/data": {}}
	file.Config.WorkingDir = "/work"
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return err
	}
	return tarball.WriteToFile(o.out, tag, image)
}

// base fetches the base image.
func base(ctx context.Context, o options) (v1.Image, error) {
	if o.base == "scratch" {
		return empty.Image, nil
	}
	ref, err := name.ParseReference(o.base)
	if err != nil {
		return nil, err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: o.arch}))
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the base %s (another one: BASE=image, none: BASE=scratch): %w", o.base, err)
	}
	return image, nil
}

// layer holds the program and the folders that it uses. The same program makes the same
// layer.
func layer(program string) (v1.Layer, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"data/", 0o700}, {"work/", 0o755}, {"tmp/", 0o1777}, {"usr/", 0o755}, {"usr/local/", 0o755}, {"usr/local/bin/", 0o755}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode}); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: inside, Mode: 0o755, Size: int64(len(text))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
}
