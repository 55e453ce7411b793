package access

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// TestMark holds that a mark finds its token for as long as that is valid, and no other
// token of the same name.
func TestMark(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	of := func(secret string) Identity {
		t.Helper()
		id, err := tokens.authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	admin := of(adminToken(t, tokens))
	if got, err := tokens.Marked(admin.Mark()); err != nil || !got.IsAdmin() || got.Scope != Admin {
		t.Errorf("%+v, %v", got, err)
	}
	secret := create(t, tokens, Spec{Name: "phone", Scope: View})
	phone := of(secret)
	if got, err := tokens.Marked(phone.Mark()); err != nil || got.Name != "phone" || got.Scope != View || got.IsAdmin() {
		t.Errorf("%+v, %v", got, err)
	}
	if err := tokens.Revoke(t.Context(), "phone"); err != nil {
		t.Fatal(err)
	}
	again := of(create(t, tokens, Spec{Name: "phone", Scope: View}))
	if again.Mark() == phone.Mark() {
		t.Error("another token of that name has the same mark")
	}
	for _, mark := range []string{phone.Mark(), "", "zz", Identity{}.Mark()} {
		if got, err := tokens.Marked(mark); err == nil {
			t.Errorf("%q is %+v", mark, got)
		} else {
			wantKind(t, mark, err, terret.CodeUnauthorized)
		}
	}
}

func TestMarkExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := newTokens(t)
		id, err := tokens.authenticate(t.Context(), create(t, tokens, Spec{Name: "guest", Scope: View, Life: time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Marked(id.Mark()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		_, err = tokens.Marked(id.Mark())
		wantKind(t, "an hour later", err, terret.CodeUnauthorized)
	})
}
