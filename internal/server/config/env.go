package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// lookup returns a variable; as in a shell, the last one of a name counts.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// applyEnv sets the fields that have a variable. An empty variable counts as unset;
// other variables are ignored.
func applyEnv(into *Config, environ []string, p place, from map[string]string) error {
	return errors.Join(applyStruct("", reflect.ValueOf(into).Elem(), environ, p, from)...)
}

func applyStruct(path string, into reflect.Value, environ []string, p place, from map[string]string) (problems []error) {
	keys, _ := fields(into.Type())
	for i, key := range keys {
		f, v := into.Type().Field(i), into.Field(i)
		if v.Kind() == reflect.Struct {
			problems = append(problems, applyStruct(path+key+".", v, environ, p, from)...)
			continue
		}
		name := f.Tag.Get("env")
		if name == "" {
			continue
		}
		text := lookup(environ, name)
		if text == "" {
			continue
		}
		if err := setText(v, text, f.Tag.Get("check"), p); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		note(from, path+key, name, "")
	}
	return problems
}

func setText(v reflect.Value, text, check string, p place) error {
	switch into := v.Addr().Interface().(type) {
	case *Duration:
		d, err := parseDuration(text)
		if err == nil {
			err = checkDuration(check, d)
		}
		if err != nil {
			return err
		}
		*into = d
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*into = b
	case *string:
		s, err := p.check(check, text)
		if err != nil {
			return err
		}
		*into = s
	case *[]string:
		*into = nil
		for _, one := range filepath.SplitList(text) {
			s, err := p.check(check, one)
			if err != nil {
				return err
			}
			*into = append(*into, s)
		}
	default:
		return fmt.Errorf("a %T cannot be set by a variable", into)
	}
	return nil
}

// DataDir is the folder for the database and the token according to the environment:
// $TERRET_HOME, or else the platform's folder for data. It is empty if there is
// neither.
func DataDir(environ []string) string { return dataDir(runtime.GOOS, environ) }

func dataDir(goos string, environ []string) string {
	if own := terretHome(environ); own != "" {
		return own
	}
	return platformDir(goos, environ, "XDG_DATA_HOME", ".local/share", "LocalAppData")
}

// UserFile is the path of the user's file: in $TERRET_HOME if that is set, or else in
// the platform's folder for configuration. It is empty if there is neither.
func UserFile(environ []string) string { return userFile(runtime.GOOS, environ) }

func userFile(goos string, environ []string) string {
	dir := terretHome(environ)
	if dir == "" {
		dir = platformDir(goos, environ, "XDG_CONFIG_HOME", ".config", "AppData")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.jsonc")
}

func terretHome(environ []string) string {
	dir := lookup(environ, "TERRET_HOME")
	if dir == "" {
		return ""
	}
	full, err := place{base: workingDir(), home: homeDir(environ)}.path(dir)
	if err != nil {
		return dir
	}
	return full
}

// platformDir is Terret's folder below the platform's folder for a purpose. XDG
// variables that are not absolute are ignored, as their standard asks.
func platformDir(goos string, environ []string, xdg, fallback, windows string) string {
	home := homeDir(environ)
	switch goos {
	case "windows":
		if dir := lookup(environ, windows); dir != "" {
			return filepath.Join(dir, "terret")
		}
		return ""
	case "darwin", "ios":
		if home == "" {
			return ""
		}
		return filepath.Join(home, "Library", "Application Support", "terret")
	}
	if dir := lookup(environ, xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "terret")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(fallback), "terret")
}

func homeDir(environ []string) string {
	if runtime.GOOS == "windows" {
		return lookup(environ, "USERPROFILE")
	}
	return lookup(environ, "HOME")
}

// workingDir is what relative paths in variables are relative to.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}
