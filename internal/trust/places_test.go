package trust

import (
	"os"
	"path/filepath"
	"testing"
)

// What drivers name acts too, and naming more does not undo decisions about folders that
// hold none of it.
func TestMorePlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	more := []Place{{".lark/", "settings of Lark"}, {".codex/", "something else"}, {"", "nothing"}}
	plain, store := Open(t.TempDir()), Open(t.TempDir(), more...)
	write(".codex/config.toml")
	_, before, err := plain.Check(dir)
	_, same, err2 := store.Check(dir)
	if err != nil || err2 != nil || before.Hash == "" || same.Hash != before.Hash || len(same.Files) != 1 || same.Files[0].Why != "settings of Codex" {
		t.Errorf("%+v, %v; %+v, %v", before, err, same, err2)
	}
	write(".lark/hooks/x")
	decision, state, err := store.Check(dir)
	if err != nil || decision != Unknown || len(state.Files) != 2 || state.Files[1] != (File{".lark/hooks/x", "settings of Lark"}) {
		t.Errorf("%v %+v, %v", decision, state, err)
	}
	if err := store.Decide(dir, state.Hash, true, "me"); err != nil {
		t.Error(err)
	}
	if decision, _, err := store.Check(dir); decision != Trusted || err != nil {
		t.Errorf("%v, %v", decision, err)
	}
	if _, state, _ := plain.Check(dir); len(state.Files) != 1 {
		t.Errorf("%+v", state)
	}
}
