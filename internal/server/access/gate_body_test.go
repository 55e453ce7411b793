package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(o *Options) {
		o.MaxBody = 100
		o.OtherBody = func(r *http.Request) bool { return r.URL.Path == "/v1/sessions/import" }
		o.BodyLimit = func(r *http.Request) int64 {
			if r.URL.Path == "/v1/sessions/import" {
				return 1000
			}
			return 0
		}
	})
	for _, c := range []struct {
		path, body string
		types      []string
		want       int
	}{
		{"/v1/x", "{}", []string{"application/json"}, http.StatusOK},
		{"/v1/x", "{}", []string{"application/json; charset=utf-8"}, http.StatusOK},
		{"/v1/x", "{}", []string{"Application/JSON; charset=UTF-8"}, http.StatusOK},
		{"/v1/x", "", nil, http.StatusOK}, // such as interrupt
		{"/v1/x", "", []string{"application/json"}, http.StatusOK},
		{"/v1/x", "{}", nil, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{""}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"text/plain; application/json"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"multipart/form-data; boundary=application/json"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "", []string{"text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json; charset=utf-16"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/jsonp"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json", "text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json, text/plain"}, http.StatusUnsupportedMediaType},
		{"/signin", "{}", []string{"text/plain"}, http.StatusUnsupportedMediaType}, // public ones, too
		{"/v1/x", strings.Repeat(" ", 101), []string{"application/json"}, http.StatusRequestEntityTooLarge},
		{"/v1/sessions/import", strings.Repeat(" ", 101), []string{"application/x-ndjson"}, http.StatusOK},
		{"/v1/sessions/import", strings.Repeat(" ", 1001), []string{"application/x-ndjson"}, http.StatusRequestEntityTooLarge},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			r := d.request(method, c.path, c.body, d.auth())
			r.Header["Content-Type"] = c.types
			if c.types == nil {
				r.Header.Del("Content-Type")
			}
			d.want(c.want, r)
		}
	}
	// A body whose length nobody said is cut as well.
	r := d.request("POST", "/v1/x", strings.Repeat(" ", 101), d.auth(), "Content-Type: application/json")
	r.ContentLength = -1
	d.want(http.StatusTeapot, r)
	d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth(), "Content-Type: text/plain"))
	d.want(http.StatusUnsupportedMediaType, d.request("GET", "/v1/x", "x", d.auth(), "Content-Type: text/plain"))
	r = d.request("POST", "/v1/x", "{}", d.auth())
	r.ContentLength = -1
	d.want(http.StatusUnsupportedMediaType, r)
}

func TestRefusalsAreWrittenAsAsked(t *testing.T) {
	t.Parallel()
	var got []int
	d := newDoor(t, func(o *Options) {
		o.Problem = func(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
			got = append(got, status)
			http.Error(w, string(err.Code), status)
		}
	})
	d.want(http.StatusUnsupportedMediaType, d.request("POST", "/v1/x", "x", d.auth()))
	d.want(http.StatusUnauthorized, d.request("GET", "/v1/x", ""))
	d.want(http.StatusForbidden, d.request("GET", "/v1/x", "", "Host: x"))
	if fmt.Sprint(got) != "[415 401 403]" {
		t.Errorf("%v", got)
	}
}

// Over a real connection, with headers that net/http would not write.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	server := httptest.NewUnstartedServer(d.handler)
	server.Config.DisableGeneralOptionsHandler = true // which would answer by itself
	server.Start()
	t.Cleanup(server.Close)
	for raw, want := range map[string]int{
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                                   200,
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                                403,
		"GET /healthz HTTP/1.0\r\n\r\n":                                                                                                      403,
		"GET /healthz HTTP/1.1\r\n\r\n":                                                                                                      400,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":                                                             400,
		"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                403,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: evil.example\r\n\r\n":                                                 200,
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n":                                                 403,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://evil.example\r\n\r\n":          403,
		"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                  415,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.admin + "\r\n\r\n":                                             200,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.admin + "\r\nAuthorization: Bearer x\r\n\r\n":                  401,
		"GET /v1/x?access_token=" + d.admin + "&token=" + d.admin + " HTTP/1.1\r\nHost: localhost\r\n\r\n":                                   401,
		"POST /v1/x?authorization=Bearer%20" + d.admin + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n":                         401,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nCookie: terret=" + d.admin + "\r\n\r\n":                                                    401,
		"OPTIONS /v1/x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Headers: authorization\r\n\r\n":  403,
		"OPTIONS /v1/x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Private-Network: true\r\n\r\n": 403,
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                                   403,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, raw); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		resp.Body.Close()
		conn.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", raw, resp.StatusCode, want)
		}
	}
}
