package access

import (
	"testing"

	"github.com/terret-dev/terret"
)

func TestInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"PATH=/bin", "TERRET_HOME=/x", "XTERRET_OWNER=1"}, false},
		{[]string{"PATH=/bin", "TERRET_OWNER=wrk_1:1:1"}, true},
		{[]string{"TERRET_GUARD=abc.1"}, true},
		{[]string{"TERRET_OWNER="}, true},
	} {
		if got := Inside(c.environ); got != c.want {
			t.Errorf("%q: %v", c.environ, got)
		}
	}
	wantKind(t, "the error", ErrInside("x"), terret.CodeForbidden)
}
