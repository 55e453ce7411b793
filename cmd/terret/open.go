package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/files"
)

type openOptions struct{ print, qr bool }

func newOpen(a *app) *cobra.Command {
	var o openOptions
	cmd := &cobra.Command{
		Use: "open", Short: "Open the web UI of the server that runs here", Args: exactArgs(),
		Long: "Open the web UI of the server that runs with this data folder, with a new link that\n" +
			"signs one browser in, once, within ten minutes.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runOpen(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.print, "print", false, "print the link instead of opening it")
	cmd.Flags().BoolVar(&o.qr, "qr", false, "also print it as a QR code, to sign in a phone")
	return cmd
}

func runOpen(ctx context.Context, a *app, o openOptions) error {
	tokens, err := a.tokens(true)
	if err != nil {
		return err
	}
	secret, err := tokens.AdminToken()
	if err != nil {
		return err
	}
	at, err := runningServer(a.data)
	if err != nil {
		return err
	}
	c, err := client.New(at.URL, client.Options{Token: secret, HTTP: at.client()})
	if err != nil {
		return err
	}
	link, err := c.SignInLink(ctx, at.Origin)
	if err != nil {
		return err
	}
	if o.qr {
		drawQR(a, link.QR)
	}
	if o.print || o.qr {
		_, err := fmt.Fprintln(a.out, link.URL)
		return err
	}
	a.note("opening %s", at.Origin)
	a.browse(ctx, link.URL).wait()
	return nil
}

// drawQR draws a QR code with half blocks, light on dark as terminals are: two rows of
// it are one line.
func drawQR(a *app, rows []string) {
	const quiet = 2
	light := func(x, y int) bool {
		return x < 0 || y < 0 || y >= len(rows) || x >= len(rows[y]) || rows[y][x] != '1'
	}
	for y := -quiet; y < len(rows)+quiet; y += 2 {
		var line strings.Builder
		for x := -quiet; x < len(rows)+quiet; x++ {
			switch top, bottom := light(x, y), light(x, y+1); {
			case top && bottom:
				line.WriteRune('█')
			case top:
				line.WriteRune('▀')
			case bottom:
				line.WriteRune('▄')
			default:
				line.WriteByte(' ')
			}
		}
		fmt.Fprintln(a.out, line.String())
	}
}

// listening is where a server of this data folder listens. It is a file that the server
// keeps locked, so that nobody sends a token to whatever got the port after it.
type listening struct {
	URL    string `json:"url"`            // for this machine
	Origin string `json:"origin"`         // for browsers
	Cert   string `json:"cert,omitempty"` // the SHA-256 of its certificate
}

// announcePatience bounds how long the file is waited for.
const announcePatience = 5 * time.Second

// announce writes the file, until the returned function is called.
func announce(ctx context.Context, data string, at listening) (withdraw func(), err error) {
	dir := filepath.Join(data, "servers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d.json", os.Getpid()))
	ctx, cancel := context.WithTimeoutCause(ctx, announcePatience, fmt.Errorf("%s is in use", path))
	defer cancel()
	f, err := files.OpenLocked(ctx, path) // a process that looks for servers has it for a moment
	if err != nil {
		return nil, err
	}
	withdraw = func() { _, _ = os.Remove(path), f.Close() } // a file that is left is not locked
	if err := errors.Join(f.Truncate(0), json.NewEncoder(f).Encode(at)); err != nil {
		withdraw()
		return nil, err
	}
	return withdraw, nil
}

// runningServer finds the server that was started last, and removes what servers that
// died have left.
func runningServer(data string) (listening, error) {
	notes, err := filepath.Glob(filepath.Join(data, "servers", "*.json"))
	if err != nil {
		return listening{}, err
	}
	type started struct {
		listening
		at int64
	}
	var found []started
	for _, path := range notes {
		if f, err := files.TryOpenLocked(path); err != nil {
			return listening{}, err
		} else if f != nil {
			_, _ = os.Remove(path), f.Close() // its server is dead; another may remove it too
			continue
		}
		var p listening
		info, statErr := os.Stat(path)
		text, err := os.ReadFile(path)
		if err != nil || statErr != nil || json.Unmarshal(text, &p) != nil {
			continue // it has ended, or has just begun
		}
		found = append(found, started{p, info.ModTime().UnixNano()})
	}
	if len(found) == 0 {
		return listening{}, terret.Errorf(terret.CodeNotFound, "no server runs with the data folder %s; start one with `terret serve --open`", data)
	}
	return slices.MaxFunc(found, func(a, b started) int { return int(a.at - b.at) }).listening, nil
}

// placeOf is the place of a server that listens at url.
func placeOf(url string, o serveOptions) listening {
	at := listening{URL: url, Origin: url}
	scheme, host, _ := strings.Cut(url, "://")
	switch _, port, _ := net.SplitHostPort(host); {
	case len(o.origins) > 0:
		at.Origin = o.origins[0]
	case len(o.hosts) > 0 && strings.Contains(o.hosts[0], ":"):
		at.Origin = scheme + "://" + o.hosts[0]
	case len(o.hosts) > 0:
		at.Origin = scheme + "://" + net.JoinHostPort(o.hosts[0], port)
	}
	if o.cert != "" {
		if pair, err := tls.LoadX509KeyPair(o.cert, o.key); err == nil { // listen has read it before
			at.Cert = fingerprint(pair.Certificate[0])
		}
	}
	return at
}

func fingerprint(cert []byte) string {
	sum := sha256.Sum256(cert)
	return hex.EncodeToString(sum[:])
}

// client talks to the server, and to nobody who has another certificate. The name in the
// certificate is that of the public address, which this machine need not know.
func (p listening) client() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection is stricter
		VerifyConnection: func(s tls.ConnectionState) error {
			if p.Cert == "" || fingerprint(s.PeerCertificates[0].Raw) != p.Cert {
				return errors.New("the server's certificate is not the one it had when it was started")
			}
			return nil
		},
	}}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
