package review

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/terret-dev/terret"
)

// Formats lists the formats of reports.
func Formats() []string { return []string{"text", "json", "markdown", "sarif"} }

// Write writes a report in a format.
func (out Report) Write(w io.Writer, format string) error {
	switch format {
	case "", "text":
		return out.text(w)
	case "markdown":
		return out.markdown(w)
	case "json":
		return writeJSON(w, out)
	case "sarif":
		return writeJSON(w, out.sarif())
	}
	return terret.Invalid("format", "there is no format %q; use %s", format, strings.Join(Formats(), ", "))
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// emptyText is what there is to say about an empty diff.
const emptyText = "There is nothing to review: nothing has changed."

// place is where a finding is.
func (f Finding) place() string {
	switch {
	case f.File == "":
		return "general"
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// counted lists names, each once, with how often it is there.
func counted(names []string) string {
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	var out []string
	for _, name := range names {
		switch n := times[name]; {
		case n > 1:
			out = append(out, fmt.Sprintf("%s %d times", name, n))
		case n == 1:
			out = append(out, name)
		}
		delete(times, name)
	}
	return strings.Join(out, ", ")
}

// marks says who found it, and whether it could be checked.
func (f Finding) marks(several bool) string {
	var out []string
	if !f.Verified {
		out = append(out, "unverified: not in the diff")
	}
	if several {
		out = append(out, "found by "+counted(f.FoundBy))
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

func (out Report) text(w io.Writer) error {
	if out.Empty {
		_, err := fmt.Fprintln(w, emptyText)
		return err
	}
	fmt.Fprintf(w, "%s\n", out.Verdict)
	if out.Summary != "" {
		fmt.Fprintf(w, "%s\n", out.Summary)
	}
	for _, f := range out.Findings {
		fmt.Fprintf(w, "\n%s: %s: %s%s\n  %s\n", f.place(), f.Severity, f.Category, f.marks(len(out.Agents) > 1), indent(f.Message))
		if f.Suggestion != "" {
			fmt.Fprintf(w, "  > %s\n", indent(f.Suggestion))
		}
	}
	return out.notes(w, "\n")
}

// notes says what the report does not cover.
func (out Report) notes(w io.Writer, before string) error {
	var err error
	for _, gap := range out.gaps() {
		_, err = fmt.Fprintf(w, "%s%s\n", before, gap)
	}
	return err
}

// gaps are what the report does not cover.
func (out Report) gaps() (list []string) {
	for _, a := range out.Agents {
		if a.Error != "" {
			list = append(list, a.Agent+" failed: "+a.Error)
		}
	}
	if len(out.Left) > 0 {
		list = append(list, "Too large to be reviewed: "+strings.Join(out.Left, ", "))
	}
	return list
}

func indent(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

func (out Report) markdown(w io.Writer) error {
	if out.Empty {
		_, err := fmt.Fprintln(w, emptyText)
		return err
	}
	fmt.Fprintf(w, "# Review (%s): %s\n\n%s\n", out.Template, out.Verdict, out.Summary)
	for _, f := range out.Findings {
		fmt.Fprintf(w, "\n- **%s** `%s` %s%s\n  %s\n", f.Severity, f.place(), f.Category, f.marks(len(out.Agents) > 1), indent(f.Message))
		if f.Suggestion != "" {
			fmt.Fprintf(w, "\n  *Suggestion:* %s\n", indent(f.Suggestion))
		}
	}
	return out.notes(w, "\n")
}

// object is a JSON object.
type object map[string]any

// levels are SARIF's words for severities.
var levels = map[string]string{"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}

// sarif is the report as SARIF 2.1.0.
func (out Report) sarif() object {
	rules, results := []object{}, []object{}
	known := map[string]bool{}
	for _, f := range out.Findings {
		if !known[f.Category] {
			known[f.Category] = true
			rules = append(rules, object{"id": f.Category, "shortDescription": object{"text": f.Category}})
		}
		r := object{
			"ruleId": f.Category, "level": levels[f.Severity], "message": object{"text": f.Message},
			"properties": object{"severity": f.Severity, "verified": f.Verified, "foundBy": f.FoundBy},
		}
		if f.File != "" {
			at := object{"artifactLocation": object{"uri": f.File, "uriBaseId": "%SRCROOT%"}}
			if f.Line > 0 {
				at["region"] = object{"startLine": f.Line}
			}
			r["locations"] = []object{{"physicalLocation": at}}
		}
		results = append(results, r)
	}
	notes := []object{}
	for _, gap := range out.gaps() {
		notes = append(notes, object{"level": "warning", "message": object{"text": gap}})
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "Terret", "rules": rules}},
			"invocations": []object{{"executionSuccessful": len(notes) == 0, "toolExecutionNotifications": notes}},
			"results":     results, "properties": object{"verdict": out.Verdict, "template": out.Template},
		}},
	}
}
