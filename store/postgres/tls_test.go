package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/test/pgtest"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, file: filepath.Join(t.TempDir(), "root.pem"), certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a server's certificate and its key.
func (a *authority) sign(t *testing.T, change func(*x509.Certificate)) (certificate, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	change(c)
	der, err := x509.CreateCertificate(rand.Reader, c, a.certificate, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// TestTLS has a server with a certificate: it is checked, and what is wrong with it said.
func TestTLS(t *testing.T) {
	t.Parallel()
	own, right, wrong := pgtest.ForTest(t), newAuthority(t), newAuthority(t)
	install := func(change func(*x509.Certificate)) {
		t.Helper()
		certificate, key := right.sign(t, change)
		own.WriteFile(t, "server.crt", certificate)
		own.WriteFile(t, "server.key", key)
		run(t, own, `ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`)
		if err := own.Halt(); err != nil {
			t.Fatal(err)
		}
		if err := own.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	url := func(root string) string { return own.URL(t.Name()) + "&sslmode=verify-full&sslrootcert=" + root }
	ours := func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

	wantRefused(t, url(right.file), "does not speak TLS", "ssl = on")
	install(ours)
	s, err := Open(t.Context(), url(right.file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner(t, s)
	o.must(t, "in secret")
	var encrypted bool
	if err := s.pool.QueryRow(t.Context(), `SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = $1`, label(s.Worker())).Scan(&encrypted); err != nil || !encrypted {
		t.Errorf("some connections are not encrypted (%v)", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wantRefused(t, url(wrong.file), "an authority that is not trusted here", "sslrootcert=FILE")
	wantRefused(t, url(filepath.Join(t.TempDir(), "nothing.pem")), "not one", "CA file")

	install(func(c *x509.Certificate) { c.DNSNames = []string{"db.example.com"} })
	wantRefused(t, url(right.file), "for another host")
	install(func(c *x509.Certificate) { ours(c); c.NotAfter = time.Now().Add(-time.Minute) })
	wantRefused(t, url(right.file), "not valid", "expired")

	own.WriteFile(t, "pg_hba.conf", []byte("hostssl all all 127.0.0.1/32 scram-sha-256\n"))
	if err := own.Halt(); err != nil {
		t.Fatal(err)
	}
	if err := own.Launch(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, strings.Replace(own.URL(t.Name()), "?", "?sslmode=disable&", 1), "wants TLS", "sslmode=verify-full")
}
