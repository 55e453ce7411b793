package team_test

import (
	"testing"

	"github.com/terret-dev/terret/work/team"
)

// TestReplyTo keeps what else a message holds, also if that is nothing.
func TestReplyTo(t *testing.T) {
	t.Parallel()
	first := team.Message{}.ReplyTo("a")
	if len(first.Metadata) != 1 {
		t.Errorf("%v", first.Metadata)
	}
	other := team.Message{Metadata: map[string]any{"topic": "x"}}
	reply := other.ReplyTo("a").ReplyTo("b")
	if len(reply.Metadata) != 2 || reply.Metadata["topic"] != "x" || len(other.Metadata) != 1 {
		t.Errorf("%v, made of %v", reply.Metadata, other.Metadata)
	}
	if none := reply.ReplyTo(""); len(none.Metadata) != 1 {
		t.Errorf("%v", none.Metadata)
	}
}
