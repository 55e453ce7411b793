package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// component is one of a CycloneDX list.
type component struct {
	Type    string           `json:"type"`
	Name    string           `json:"name"`
	Version string           `json:"version,omitempty"`
	PURL    string           `json:"purl,omitempty"`
	Hashes  []map[string]any `json:"hashes,omitempty"`
}

// writeSBOM lists the Go modules that a program says it was built from. The same program
// makes the same list.
func writeSBOM(out, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	sum, err := sha256Of(program)
	if err != nil {
		return err
	}
	parts := []component{{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{"component": component{
			Type: "application", Name: filepath.Base(program), PURL: "pkg:golang/" + info.Main.Path,
			Hashes: []map[string]any{{"alg": "SHA-256", "content": sum}},
		}},
		"components": parts,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func sha256Of(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
