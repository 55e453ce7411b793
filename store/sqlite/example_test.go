package sqlite_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store/sqlite"
)

// A store in memory: the session's log is read back as it was written.
func ExampleOpen() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	s, err := store.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mine", Cwd: "/project", Title: "First"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.ListSessions(ctx, terret.SessionFilter{Agent: "mine"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Items), page.Items[0].Title, page.Items[0].ID == s.ID)
	// Output: 1 First true
}
