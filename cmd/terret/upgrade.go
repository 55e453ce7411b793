package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

// Bounds of what says which release there is.
const (
	releaseBytes = 64 << 10
	releaseTime  = 15 * time.Second
	releaseNotes = 50
)

// release is what there is to upgrade to.
type release struct {
	Version string   `json:"version"`
	Date    string   `json:"date,omitzero"`
	Notes   []string `json:"notes,omitzero"`
	URL     string   `json:"url,omitzero"` // where to get it
}

func newUpgrade(a *app) *cobra.Command {
	var check, asJSON bool
	cmd := &cobra.Command{
		Use: "upgrade --check [FILE|URL]", Short: "Say whether there is a newer version",
		Long: "Say whether there is a newer version, by a JSON file or its address:\n\n" +
			"  {\"version\": \"0.2.0\", \"date\": \"2026-12-01\", \"notes\": [\"What is new.\"], \"url\": \"https://…\"}\n\n" +
			"Without an argument it is the key `releases` of the configuration. Terret asks nobody unless\n" +
			"you call this, and replaces nothing: upgrade the way you installed it, then restart what\n" +
			"runs, as `terret service install` does for the service.",
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !check {
				return terret.Invalid("check", "terret does not replace itself: upgrade it the way you installed it; `terret upgrade --check FILE` says what is new")
			}
			if err := a.prepare(); err != nil {
				return err
			}
			from := a.cfg.Releases
			if len(args) > 0 {
				from = args[0]
			}
			return a.checkRelease(cmd.Context(), from, asJSON)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "say what is new")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) checkRelease(ctx context.Context, from string, asJSON bool) error {
	if from == "" {
		return terret.Invalid("check", "name a file or an address that says which release there is, or set the key releases in the configuration; terret knows none by itself")
	}
	r, err := readRelease(ctx, from)
	if err != nil {
		return err
	}
	newer, comparable := newerVersion(r.Version, version())
	if asJSON {
		return a.printJSON(map[string]any{"this": version(), "release": r, "newer": newer})
	}
	at := ""
	if r.Date != "" {
		at = " of " + r.Date
	}
	switch {
	case !comparable:
		_, err = fmt.Fprintf(a.out, "terret %s%s is released; this one is %s, which cannot be compared with it\n", r.Version, at, version())
	case newer:
		_, err = fmt.Fprintf(a.out, "terret %s%s is newer than this one, %s\n", r.Version, at, version())
	default:
		_, err = fmt.Fprintf(a.out, "terret %s is not newer than this one, %s\n", r.Version, version())
		return err
	}
	for _, note := range r.Notes {
		_, err = fmt.Fprintf(a.out, "  - %s\n", note)
	}
	if r.URL != "" {
		_, err = fmt.Fprintf(a.out, "%s\n", r.URL)
	}
	return err
}

// readRelease reads what a file or an address says. It takes nothing that it would have to
// believe more of than its words: they are bounded, and hold no control characters.
func readRelease(ctx context.Context, from string) (release, error) {
	body, err := openRelease(ctx, from)
	if err != nil {
		return release{}, err
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(body, releaseBytes+1))
	if err == nil && len(raw) > releaseBytes {
		err = fmt.Errorf("it is larger than %d bytes", releaseBytes)
	}
	var r release
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if _, ok := parseVersion(r.Version); err == nil && !ok {
		err = errors.New("it names no version such as 0.2.0")
	}
	if err != nil {
		return release{}, terret.Invalid("check", "%s does not say which release there is: %w", from, err)
	}
	for _, s := range append([]*string{&r.Date, &r.URL}, pointers(r.Notes)...) {
		*s = wordsOnly(*s)
	}
	r.Notes = r.Notes[:min(len(r.Notes), releaseNotes)]
	return r, nil
}

func pointers(texts []string) (all []*string) {
	for i := range texts {
		all = append(all, &texts[i])
	}
	return all
}

// wordsOnly is a text on one line, without what a terminal would obey.
func wordsOnly(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }), " ")
}

func openRelease(ctx context.Context, from string) (io.ReadCloser, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		f, err := os.Open(from)
		if err != nil {
			return nil, terret.Invalid("check", "%w", err)
		}
		return f, nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && (err != nil || !ip.IsLoopback()) {
		return nil, terret.Invalid("check", "%s is not encrypted; use https", from)
	}
	client := &http.Client{Timeout: releaseTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != u.Scheme || len(via) > 5 {
			return errors.New("it leads elsewhere")
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, terret.Invalid("check", "%w", err)
	}
	req.Header.Set("User-Agent", "terret")
	res, err := client.Do(req)
	if err != nil {
		return nil, terret.Errorf(terret.CodeNotFound, "cannot ask which release there is: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, terret.Errorf(terret.CodeNotFound, "cannot ask which release there is: %s answers %s", from, res.Status)
	}
	return res.Body, nil
}

var versionRE = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$`)

// semantic is a version: three numbers, and what comes before the release, such as -rc.1.
type semantic struct {
	numbers [3]int
	before  string
}

func parseVersion(s string) (v semantic, ok bool) {
	m := versionRE.FindStringSubmatch(s)
	if m == nil {
		return v, false
	}
	for i := range v.numbers {
		v.numbers[i], _ = strconv.Atoi(m[i+1]) // it is digits
	}
	v.before = m[4]
	return v, true
}

// newerVersion reports whether a version comes after another one, if both are versions. Of
// two that come before the same release it knows only whether they are the same.
func newerVersion(a, b string) (newer, comparable bool) {
	one, ok := parseVersion(a)
	two, fine := parseVersion(b)
	if !ok || !fine || one.numbers == two.numbers && one.before != "" && two.before != "" && one.before != two.before {
		return false, false
	}
	for i := range one.numbers {
		if one.numbers[i] != two.numbers[i] {
			return one.numbers[i] > two.numbers[i], true
		}
	}
	return one.before == "" && two.before != "", true
}
