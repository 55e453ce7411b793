package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestMessagePages reads a conversation in pages of all sizes from both ends. The agent
// repeats what it was told, some of it after the end of a page.
func TestMessagePages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	c, err := f.store.Claim(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	message := func(role terret.Role, id, text string) terret.Data {
		return terret.MessageComplete{MessageID: id, Role: role, Blocks: []terret.Block{terret.Text(text)}}
	}
	var data []terret.Data
	var want []string
	for i := range 40 {
		id := fmt.Sprint("m", i)
		prompt := []terret.Block{terret.Text(id)}
		data = append(data,
			terret.UserPrompt{MessageID: id, Blocks: prompt},
			terret.MessageDelta{MessageID: "a" + id, Text: "piece"},
			message(terret.RoleAssistant, "a"+id, "answer to "+id),
			terret.UserPrompt{MessageID: id, Blocks: prompt},
			terret.UserPrompt{MessageID: "empty"},
			message(terret.RoleAssistant, "", "without an id"),
		)
		if i%5 == 4 {
			data = append(data, terret.UserPrompt{MessageID: fmt.Sprint("m", i-4), Blocks: []terret.Block{terret.Text("late")}})
		}
		want = append(want, id, "answer to "+id, "without an id")
	}
	var events []terret.Event
	for _, d := range data {
		events = append(events, terret.Event{Time: terret.Now(), Data: d})
	}
	batch := terret.Batch{Session: s.ID, Epoch: c.Session.Epoch, After: c.Session.LastSeq, Events: events}
	if r, err := f.store.Commit(t.Context(), []terret.Batch{batch}); err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
	for _, order := range []string{"", "oldest", "newest"} {
		want := slices.Clone(want)
		if order == "newest" {
			slices.Reverse(want)
		}
		for _, limit := range []int{1, 2, 7, len(want) - 1, len(want), len(want) + 1} {
			var got []string
			pages := 0
			for cursor := ""; pages == 0 || cursor != ""; pages++ {
				query := fmt.Sprintf("?limit=%d&cursor=%s", limit, cursor)
				if order != "" {
					query += "&order=" + order
				}
				var p terret.Page[terret.Message]
				f.do("GET", "/v1/sessions/"+s.ID+"/messages"+query, nil).want(200, &p)
				for _, m := range p.Items {
					got = append(got, terret.TextOf(m.Blocks))
				}
				cursor = p.Next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s first, %d a page (-want +got):\n%s", order, limit, diff)
			}
			if most := (len(want) + limit - 1) / limit; pages != most {
				t.Errorf("%s first, %d a page: %d pages, want %d", order, limit, pages, most)
			}
		}
	}
	f.do("GET", "/v1/sessions/"+s.ID+"/messages?cursor=x", nil).problem(422, terret.CodeInvalidRequest, "cursor")
}

// TestLargeMessages holds that a page of messages has a bound in bytes as well, and that
// the pages together are all there is.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	c, err := f.store.Claim(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var events []terret.Event
	for i := range 12 {
		blocks := []terret.Block{terret.Text(strings.Repeat("x", 1<<20))}
		events = append(events, terret.Event{Time: terret.Now(), Data: terret.MessageComplete{MessageID: fmt.Sprint(i), Role: terret.RoleAssistant, Blocks: blocks}})
	}
	batch := terret.Batch{Session: s.ID, Epoch: c.Session.Epoch, After: c.Session.LastSeq, Events: events}
	if r, err := f.store.Commit(t.Context(), []terret.Batch{batch}); err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
	for _, order := range []string{"oldest", "newest"} {
		got, cursor := 0, ""
		for {
			var page terret.Page[terret.Message]
			a := f.do("GET", "/v1/sessions/"+s.ID+"/messages?order="+order+"&cursor="+cursor, nil).want(200, &page)
			if len(a.body) > 6<<20 {
				t.Errorf("%s: a page of %d bytes", order, len(a.body))
			}
			got += len(page.Items)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if got != len(events) {
			t.Errorf("%s: %d messages, want %d", order, got, len(events))
		}
	}
}
