package postgres_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store/postgres"
)

// A store that the processes of several machines share.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://terret:secret@db.example.com/terret", postgres.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	page, err := store.ListSessions(ctx, terret.SessionFilter{States: []terret.SessionState{terret.SessionBusy}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range page.Items {
		fmt.Println(s.ID, s.Title, s.Owner)
	}
}
