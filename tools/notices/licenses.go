package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// part is a module or package of others.
type part struct {
	name, version, license, text string
}

// platforms are those of releases.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func writeLicenses(root, file string) error {
	modules, err := goModules(root)
	if err != nil {
		return err
	}
	packages, err := npmPackages(filepath.Join(root, "web"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("# What others made\n\nThe program holds the following, each under its own licence. The names of licences are recognized by words of their texts, which are below; the texts count.\n")
	for _, group := range []struct {
		title string
		parts []part
	}{{"Go modules", modules}, {"npm packages, in the web UI", packages}} {
		fmt.Fprintf(&b, "\n## %s\n\n| name | version | licence |\n|---|---|---|\n", group.title)
		for _, p := range group.parts {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.version, p.license)
		}
	}
	for _, p := range append(modules, packages...) {
		fmt.Fprintf(&b, "\n## %s %s\n\n```text\n%s\n```\n", p.name, p.version, strings.ReplaceAll(strings.TrimSpace(p.text), "```", "'''"))
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// goModules are the modules that the program links on any platform, and Go itself.
func goModules(root string) ([]part, error) {
	found := map[string]part{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/terret")
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module == nil || p.Module.Main || found[p.Module.Path].name != "" {
				continue
			}
			text, err := licenseIn(p.Module.Dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Module.Path, err)
			}
			found[p.Module.Path] = part{p.Module.Path, p.Module.Version, licenseOf(text), text}
		}
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, err
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	text, err := licenseIn(goroot)
	if err != nil {
		return nil, err
	}
	found["the Go standard library"] = part{"the Go standard library", version, licenseOf(text), text}
	return sorted(found)
}

// npmPackages are the packages that the web UI is built from, without what only builds it.
func npmPackages(web string) ([]part, error) {
	raw, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, DevOptional bool
			Optional, Peer   bool
		}
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		return nil, err
	}
	found := map[string]part{}
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 { // the web UI itself
			continue
		}
		name := path[at+len("node_modules/"):]
		if p.Dev || p.DevOptional || strings.HasPrefix(name, "@types/") {
			continue
		}
		text, err := licenseIn(filepath.Join(web, path))
		if errors.Is(err, fs.ErrNotExist) && (p.Optional || p.Peer) {
			continue // not installed, so not in the build
		}
		if err != nil {
			text = "Its package names the licence " + p.License + " and holds no text."
		}
		found[name+"@"+p.Version] = part{name, p.Version, p.License, text}
	}
	return sorted(found)
}

func sorted(found map[string]part) ([]part, error) {
	var all []part
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key].license == "" {
			return nil, fmt.Errorf("%s: cannot tell its licence", key)
		}
		all = append(all, found[key])
	}
	return all, nil
}

var licenseNameRE = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// licenseIn is the text of the licence files of a folder.
func licenseIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		if e.Type().IsRegular() && licenseNameRE.MatchString(e.Name()) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return "", err
			}
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
	if len(texts) == 0 {
		return "", errors.New("there is no licence file")
	}
	return strings.Join(texts, "\n\n"), nil
}

// licenseOf names the licences that a text is; empty if it knows none.
func licenseOf(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	var names []string
	for _, l := range []struct{ name, says string }{
		{"Apache-2.0", "apache license version 2.0"},
		{"MPL-2.0", "mozilla public license"},
		{"BSD-3-Clause", "neither the name of"},
		{"MIT", "permission is hereby granted, free of charge"},
		{"ISC", "permission to use, copy, modify, and/or distribute this software for any"},
	} {
		if strings.Contains(text, l.says) {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 && strings.Contains(text, "redistributions in binary form must reproduce") {
		names = append(names, "BSD-2-Clause")
	}
	if len(names) == 0 && strings.Contains(text, "apache.org/licenses/license-2.0") {
		names = append(names, "Apache-2.0")
	}
	return strings.Join(names, ", ")
}
