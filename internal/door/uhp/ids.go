package uhp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/terret-dev/terret"
)

// The prefixes of the protocol's ids, and of harnesses that nobody made through it.
const (
	prefixHarness   = "chrn_"
	prefixAgent     = "chrn_agent_"
	prefixPersona   = "chrn_persona_"
	prefixResponse  = "resp_"
	prefixSession   = "hsess"
	prefixContainer = "cntr_"
	prefixFile      = "file_"
)

// bare is a UUID without its prefix and its dashes.
func bare(prefix, id string) string {
	return strings.ReplaceAll(strings.TrimPrefix(id, prefix), "-", "")
}

// whole is the id that bare was made of, or empty if it was made of none.
func whole(prefix, hexed string) string {
	if len(hexed) != 32 {
		return ""
	}
	id := prefix + hexed[:8] + "-" + hexed[8:12] + "-" + hexed[12:16] + "-" + hexed[16:20] + "-" + hexed[20:]
	if !terret.ValidID(prefix, id) {
		return ""
	}
	return id
}

func responseID(session, turn string) string {
	return prefixResponse + bare("", session) + bare(terret.PrefixTurn, turn)
}

// parseResponse is the session and the turn of a response, or empty.
func parseResponse(id string) (session, turn string) {
	rest, ok := strings.CutPrefix(id, prefixResponse)
	if !ok || len(rest) != 64 {
		return "", ""
	}
	return whole("", rest[:32]), whole(terret.PrefixTurn, rest[32:])
}

func sessionID(session string) string   { return prefixSession + bare("", session) }
func containerID(session string) string { return prefixContainer + bare("", session) }

// sessionOf is the session of an id with that prefix, or empty.
func sessionOf(prefix, id string) string {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return ""
	}
	return whole("", rest)
}

// artifactID says nothing about the path, so no path can be made of one: artifacts are looked
// up among those of their session.
func artifactID(session, path string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + path))
	return prefixFile + hex.EncodeToString(sum[:16])
}
