package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicenseOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Permission is hereby granted, free of\ncharge, to any person":                     "MIT",
		"Apache License\n  Version 2.0, January 2004":                                      "Apache-2.0",
		"Redistributions in binary form must reproduce the above. Neither the name of":     "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above copyright notice":         "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute this software for any purpose": "ISC",
		"All rights reserved.": "",
		"Apache License Version 2.0 … Permission is hereby granted, free of charge, to any person obtaining": "Apache-2.0, MIT",
	} {
		if got := licenseOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if _, err := sorted(map[string]part{"a": {name: "a"}}); err == nil {
		t.Error("a module without a known licence is in the list")
	}
}

// TestSBOM lists this test's own program.
func TestSBOM(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "sbom.json")
	if err := writeSBOM(out, self); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		BOMFormat  string
		Components []component
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.BOMFormat != "CycloneDX" || len(got.Components) == 0 || !strings.HasPrefix(got.Components[0].PURL, "pkg:golang/std@go1") {
		t.Errorf("%s", text)
	}
}

func TestLicenseIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := licenseIn(dir); err == nil {
		t.Error("a folder without a licence has one")
	}
	for name, text := range map[string]string{"LICENSE-MIT.txt": "one", "licenses_test.go": "two", "NOTICE": "three"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := licenseIn(dir); err != nil || text != "one\n\nthree" {
		t.Errorf("%q, %v", text, err)
	}
}
