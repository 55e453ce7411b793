// Package service writes what has the server run in the background: a unit for systemd, an
// agent for launchd.
package service

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Spec is what to run.
type Spec struct {
	Program string   // its path
	Args    []string // for it
	Dir     string   // to run it in
	Env     []string // NAME=VALUE; no secrets: the file is not one to keep them in
	Log     string   // file for what it prints, where the system keeps no log of it
}

// Names of the unit and the agent.
const (
	UnitName  = "terret.service"
	AgentName = "dev.terret.serve"
)

// Unit is a user unit of systemd.
func Unit(s Spec) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Written by terret service install, which replaces it.\n[Unit]\nDescription=Terret server\n\n[Service]\n")
	fmt.Fprintf(&b, "WorkingDirectory=%s\n", strings.ReplaceAll(s.Dir, "%", "%%")) // quotes would be part of it
	for _, e := range s.Env {
		fmt.Fprintf(&b, "Environment=%s\n", quoted(e, false))
	}
	fmt.Fprintf(&b, "ExecStart=%s", quoted(s.Program, false))
	for _, arg := range s.Args {
		b.WriteString(" " + quoted(arg, true))
	}
	b.WriteString("\n# Running turns have --drain (20 s) to end.\nTimeoutStopSec=60\nRestart=on-failure\nRestartSec=2\n\n[Install]\nWantedBy=default.target\n")
	return b.String(), nil
}

// quoted is a word of a unit that stands for itself. Where words are expanded, so is $.
func quoted(s string, expanded bool) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s)
	if expanded {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	return `"` + s + `"`
}

// Agent is a launchd agent.
func Agent(s Spec) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by terret service install, which replaces it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	` + text(AgentName) + `
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range append([]string{s.Program}, s.Args...) {
		b.WriteString("\t\t" + text(arg) + "\n")
	}
	b.WriteString("\t</array>\n\t<key>WorkingDirectory</key>\n\t" + text(s.Dir) + "\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		b.WriteString("\t\t<key>" + escaped(name) + "</key>\n\t\t" + text(value) + "\n")
	}
	b.WriteString("\t</dict>\n\t<key>RunAtLoad</key>\n\t<true/>\n\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n\t<key>ExitTimeOut</key>\n\t<integer>60</integer>\n")
	for _, key := range []string{"StandardOutPath", "StandardErrorPath"} {
		b.WriteString("\t<key>" + key + "</key>\n\t" + text(s.Log) + "\n")
	}
	b.WriteString("</dict>\n</plist>\n")
	return b.String(), nil
}

func text(s string) string { return "<string>" + escaped(s) + "</string>" }

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // memory takes it
	return b.String()
}

// check refuses what neither kind of file can say.
func (s Spec) check() error {
	for _, word := range append(append([]string{s.Program, s.Dir}, s.Args...), s.Env...) {
		if strings.ContainsAny(word, "\n\r\x00") {
			return fmt.Errorf("%q has a line break", word)
		}
	}
	return nil
}
