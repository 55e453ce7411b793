// Package pushtest is a push service with browsers, for tests: it reads messages as
// browsers do (RFC 8291) and checks the server's signature (RFC 8292).
package pushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Host is the name of the service.
const Host = "push.example.com"

// Service takes messages for its browsers. As an http.RoundTripper it does without a
// network.
type Service struct {
	t testing.TB

	mu       sync.Mutex
	answer   http.HandlerFunc
	browsers map[string]*Browser // by path
}

// New makes a service. What is wrong with a message fails the test.
func New(t testing.TB) *Service {
	return &Service{t: t, browsers: map[string]*Browser{}}
}

// Client serves the service over TLS at its own name, and returns a client for it.
func (s *Service) Client() *http.Client {
	server := httptest.NewTLSServer(s)
	s.t.Cleanup(server.Close)
	return server.Client()
}

// Answer has the service answer with that, after it has read a message; nil means 201.
func (s *Service) Answer(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Browser is one that has subscribed.
type Browser struct {
	Endpoint, P256DH, Auth string
	// Messages are those that were sent, with or without success.
	Messages chan Message

	key  *ecdh.PrivateKey
	auth []byte
}

// Message is one that a browser got.
type Message struct {
	Notes   []Note
	Header  http.Header
	Key     string         // of the server that has signed it
	Claims  map[string]any // of the signature
	Arrived time.Time
}

// Note is what the browser is to show.
type Note struct{ Title, Body, Tag, Path string }

// Browser makes one that subscribes.
func (s *Service) Browser() *Browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	auth := make([]byte, 16)
	_, _ = rand.Read(auth) // never fails
	path := "/send/" + rand.Text()
	encode := base64.RawURLEncoding.EncodeToString
	b := &Browser{
		Endpoint: "https://" + Host + path, P256DH: encode(key.PublicKey().Bytes()), Auth: encode(auth),
		Messages: make(chan Message, 100), key: key, auth: auth,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = b
	return b
}

// Subscription is the body of PUT /v1/push, as the browser gives it.
func (b *Browser) Subscription() map[string]any {
	return map[string]any{"endpoint": b.Endpoint, "keys": map[string]any{"p256dh": b.P256DH, "auth": b.Auth}}
}

// RoundTrip implements http.RoundTripper.
func (s *Service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer, b := s.answer, s.browsers[r.URL.Path]
	s.mu.Unlock()
	if b == nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	m, err := b.read(r)
	if err != nil {
		s.t.Errorf("the push service got a message that the browser cannot read: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case b.Messages <- m:
	default:
		s.t.Error("nobody reads what the browser gets")
	}
	if answer != nil {
		answer(w, r)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (b *Browser) read(r *http.Request) (Message, error) {
	m := Message{Header: r.Header, Arrived: time.Now()}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return m, err
	}
	if len(body) > 4096 || r.Header.Get("Content-Encoding") != "aes128gcm" || r.Header.Get("TTL") == "" {
		return m, fmt.Errorf("%d bytes with %v", len(body), r.Header)
	}
	if m.Key, m.Claims, err = verify(r.Header.Get("Authorization")); err != nil {
		return m, err
	}
	plain, err := Decrypt(b.key, b.auth, body)
	if err != nil {
		return m, err
	}
	var shown struct{ Notes []Note }
	err = json.Unmarshal(plain, &shown)
	m.Notes = shown.Notes
	return m, err
}

// verify checks "vapid t=JWT, k=KEY", and returns the key and the claims.
func verify(header string) (key string, claims map[string]any, err error) {
	rest, ok := strings.CutPrefix(header, "vapid t=")
	token, key, found := strings.Cut(rest, ", k=")
	parts := strings.Split(token, ".")
	if !ok || !found || len(parts) != 3 {
		return "", nil, fmt.Errorf("authorization %q", header)
	}
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return "", nil, err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return "", nil, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", nil, fmt.Errorf("signature %q", parts[2])
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", nil, errors.New("the signature is wrong")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", nil, err
	}
	return key, claims, json.Unmarshal(text, &claims)
}

// Decrypt reads a message of one record as RFC 8291 says.
func Decrypt(own *ecdh.PrivateKey, auth, body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, errors.New("the message has no header")
	}
	salt, size, sender, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if len(sealed) > int(size) {
		return nil, errors.New("the message has several records")
	}
	from, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	secret, err := own.ECDH(from)
	if err != nil {
		return nil, err
	}
	ikm, err := hkdf.Key(sha256.New, secret, auth, "WebPush: info\x00"+string(own.PublicKey().Bytes())+string(sender), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	text, ok := bytes.CutSuffix(bytes.TrimRight(plain, "\x00"), []byte{2})
	if !ok {
		return nil, errors.New("the message does not end")
	}
	return text, nil
}
