//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

func flushInput(*os.File) {}

func keysAtOnce(*os.File, bool) (restore func(), err error) { return nil, errors.ErrUnsupported }

func redraws() []os.Signal { return nil }
