// Command dashboard shows what a server does, from its /metrics: as a table, or as a page that
// reloads itself. Anything that reads Prometheus can do the same; deploy/grafana.json is for
// Grafana.
//
//	TERRET_TOKEN=$(terret token show --print) dashboard
//	TERRET_TOKEN=… dashboard -serve 127.0.0.1:8080
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// sample is one line of the text that Prometheus reads.
type sample struct {
	Name, Labels string
	Value        float64
}

// row is a line of the table.
type row struct{ What, Value string }

func main() {
	base := flag.String("url", cmp.Or(os.Getenv("TERRET_URL"), "http://127.0.0.1:7433"), "the server")
	serve := flag.String("serve", "", "address to serve a page at, instead of printing once; keep it on loopback: whoever reaches it can see it")
	flag.Parse()
	look := func(ctx context.Context) ([]row, error) {
		return read(ctx, strings.TrimSuffix(*base, "/")+"/metrics", os.Getenv("TERRET_TOKEN"))
	}
	var err error
	if *serve == "" {
		err = table(look)
	} else {
		err = listen(*serve, page(look))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func table(look func(context.Context) ([]row, error)) error {
	rows, err := look(context.Background())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r.What, r.Value)
	}
	return w.Flush()
}

// listen serves until somebody presses Ctrl-C.
func listen(addr string, h http.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "dashboard at http://%s/\n", l.Addr())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<meta charset="utf-8"><meta http-equiv="refresh" content="10"><meta name="viewport" content="width=device-width">
<title>Terret</title><style>body { font: 16px system-ui; margin: 2rem; color-scheme: light dark } td { padding: .2rem 1rem .2rem 0 }</style>
<h1>Terret</h1>{{with .Error}}<p>{{.}}</p>{{end}}<table>{{range .Rows}}<tr><td>{{.What}}</td><td>{{.Value}}</td></tr>{{end}}</table>
`))

func page(look func(context.Context) ([]row, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rows, err := look(r.Context())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = pageTemplate.Execute(w, struct {
			Rows  []row
			Error error
		}{rows, err})
	})
}

// read reads the metrics of a server.
func read(ctx context.Context, url, token string) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s; TERRET_TOKEN must hold a token (terret token new dashboard --scope view)", url, res.Status)
	}
	samples, err := parse(res.Body)
	return rows(samples, time.Now()), err
}

// parse reads the text format: a name, perhaps labels in braces, and a value on each line.
func parse(r io.Reader) (all []sample, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no metric: %w", line, err)
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		all = append(all, sample{name, strings.TrimSuffix(labels, "}"), value})
	}
	return all, lines.Err()
}

// rows are what a person wants to see first.
func rows(samples []sample, now time.Time) (out []row) {
	sums := map[string]float64{}
	var failed float64
	for _, s := range samples {
		sums[s.Name] += s.Value
		if s.Name == "terret_http_requests_total" && strings.Contains(s.Labels, `code="5`) {
			failed += s.Value
		}
	}
	add := func(what, format string, value any) { out = append(out, row{what, fmt.Sprintf(format, value)}) }
	add("needs you", "%.0f", sums["terret_open_requests"])
	add("working sessions", "%.0f", sums["terret_working_sessions"])
	add("open streams", "%.0f", sums["terret_streams"])
	add("events sent", "%.0f", sums["terret_stream_events_total"])
	add("requests", "%.0f", sums["terret_http_requests_total"])
	add("of them failed", "%.0f", failed)
	if began := sums["process_start_time_seconds"]; began > 0 {
		add("up", "%s", now.Sub(time.UnixMilli(int64(began*1000))).Round(time.Second))
	}
	busy := slices.DeleteFunc(samples, func(s sample) bool { return s.Name != "terret_http_request_seconds_total" })
	slices.SortFunc(busy, func(a, b sample) int { return cmp.Compare(b.Value, a.Value) })
	for _, s := range busy[:min(3, len(busy))] {
		add("busiest: "+strings.ReplaceAll(s.Labels, `"`, ""), "%.2f s", s.Value)
	}
	return out
}
