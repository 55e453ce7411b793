//go:build !linux && !darwin

package tools

import (
	"context"
	"io/fs"
	"os"
)

const openFlags = 0

// lockFolder does nothing here.
func lockFolder(context.Context, *os.Root, string) (unlock func()) { return func() {} }

// keepOwner does nothing here.
func keepOwner(*os.File, fs.FileInfo) {}
