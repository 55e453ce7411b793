package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/terret-dev/terret"
)

func asType[E error](err error) (E, bool) { return errors.AsType[E](err) }

// code is the SQLSTATE in err, or empty.
func code(err error) string {
	if e, ok := asType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func isCode(err error, want string) bool { return code(err) == want }

// commitError says that the outcome of a transaction is unknown.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// unreachable reports whether the server is not there now, but may be again soon.
func unreachable(err error) bool {
	switch c := code(err); {
	case c == "57P01", c == "25P03", c == "57P02", c == "57P03", c == "57P05", c == "53300", c == "25006", strings.HasPrefix(c, "08"):
		return true // it stops, has crashed, starts, is full, or is no longer the primary
	case c != "":
		return false
	}
	if standby(err) {
		return true
	}
	_, network := asType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) ||
		pgconn.SafeToRetry(err) || err != nil && strings.Contains(err.Error(), "conn closed")
}

// standby reports whether no server could be written to, of those that an address names.
func standby(err error) bool {
	return isCode(err, "25006") || errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection)
}

// collided reports whether the server ended a transaction because of another one.
func collided(err error) bool {
	switch code(err) {
	case "40P01", "40001", "23505":
		return true
	}
	return false
}

// untrusted says what to do if client and server do not agree about TLS.
func untrusted(err error) string {
	_, host := asType[x509.HostnameError](err)
	_, authority := asType[x509.UnknownAuthorityError](err)
	_, certificate := asType[*tls.CertificateVerificationError](err)
	switch {
	case isCode(err, "28000") && strings.Contains(err.Error(), "no encryption"):
		return "the server wants TLS; add sslmode=verify-full to the address"
	case host:
		return "the server's certificate is for another host; connect by a name that is in the certificate"
	case authority:
		return "the server's certificate is signed by an authority that is not trusted here; add sslrootcert=FILE with that authority's certificate"
	case certificate:
		return "the server's certificate is not valid"
	case code(err) == "" && strings.Contains(err.Error(), "server refused TLS connection"):
		return "the server does not speak TLS; turn it on there (ssl = on), or remove sslmode from the address if you trust the network"
	}
	return ""
}

// describe turns an error of the server into one that a person can act on. Errors that
// already are, and those of the context, pass through.
func describe(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := asType[*terret.Error](err); ok || errors.Is(err, terret.ErrFenced) ||
		errors.Is(err, context.Canceled) && !unreachable(err) || errors.Is(err, context.DeadlineExceeded) && !unreachable(err) {
		return err
	}
	refused := func(fix string) error {
		return terret.Errorf(terret.CodeStartupRefused, "%s: %s: %s (%w)", what, name, fix, err)
	}
	if fix := untrusted(err); fix != "" {
		return refused(fix)
	}
	if standby(err) {
		return terret.Errorf(terret.CodeInternal, "%s: %s: the database is read-only now; nothing stored is lost; if another server is the primary, use its address, or name all servers and add target_session_attrs=read-write (%w)", what, name, err)
	}
	switch code(err) {
	case "28P01", "28000":
		return refused("the server does not let this user in; check the user and the password")
	case "3D000":
		return refused("there is no such database; create it with createdb")
	case "42501":
		return refused("the user may not do that; grant it CREATE and USAGE on the schema, or make it the owner of the tables")
	case "42P07":
		return refused("the schema holds tables of another program; choose another one with ?search_path=")
	case "53100":
		return terret.Errorf(terret.CodeInternal, "%s: %s: the server's disk is full; free some space and try again, nothing stored is lost (%w)", what, name, err)
	case "53300":
		return terret.Errorf(terret.CodeInternal, "%s: %s: the server has no connection left; raise max_connections, or lower pool_max_conns in the address (%w)", what, name, err)
	case "55P03":
		return terret.Errorf(terret.CodeConflict, "%s: %s: another process holds what this needs; try again (%w)", what, name, err)
	}
	if unreachable(err) {
		return terret.Errorf(terret.CodeInternal, "%s: the database %s cannot be reached; nothing stored is lost (%w)", what, name, err)
	}
	return terret.Errorf(terret.CodeInternal, "%s: %s: %w", what, name, err)
}
