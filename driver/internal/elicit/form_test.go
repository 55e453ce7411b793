package elicit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

const schema = `{"type":"object","properties":{
	"question_0":{"type":"string","title":"Colour","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue","description":"as the sky"}]},
	"question_0_custom":{"type":"string","title":"Other"},
	"many":{"type":"array","description":"Which?","items":{"enum":["x","y"]}},
	"pet":{"type":"string","enum":["p1","p2"],"enumNames":["Cat"]},
	"sure":{"type":"boolean"},"count":{"type":"integer"},"size":{"type":"number"},"word":{"type":"string"}}}`

func parse(t *testing.T, schema string, o Options) Form {
	t.Helper()
	f, err := Parse([]byte(schema), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	show := func(questions []terret.Question) string {
		var out strings.Builder
		for _, q := range questions {
			fmt.Fprintf(&out, "%s|%s|%s|%v|%v\n", q.ID, q.Header, strings.ReplaceAll(q.Text, "\n", "/"), q.Options, q.Multi)
		}
		return out.String()
	}
	if got, want := show(parse(t, schema, Options{Custom: true}).Questions("Tell me.")), `count|count|Tell me.|[]|false
many|many|Which?|[{x } {y }]|true
pet|pet|Tell me.|[{Cat } {p2 }]|false
question_0|Colour|Tell me.|[{Red } {Blue as the sky}]|false
size|size|Tell me.|[]|false
sure|sure|Tell me.|[{Yes } {No }]|false
word|word|Tell me.|[]|false
`; got != want {
		t.Errorf("%s", got)
	}
	got := show(parse(t, schema, Options{From: "shop"}).Questions("Tell me."))
	for _, want := range []string{"many|shop|Tell me./Which?|", "question_0|shop|Tell me./Colour|", "question_0_custom|shop|Tell me./Other|", "word|shop|Tell me./word|"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, empty := range []string{"", "null", "{}"} {
		if got := show(parse(t, empty, Options{From: "shop"}).Questions("Buy it?")); got != "confirm|shop|Buy it?|[{Yes } {No }]|false\n" {
			t.Errorf("%q: %s", empty, got)
		}
	}
	if q := parse(t, "", Options{}).Questions("a\xff" + strings.Repeat("é", 3000)); utf8.RuneCountInString(q[0].Text) > maxAsked || !strings.HasPrefix(q[0].Text, "a\uFFFDé") {
		t.Errorf("%d characters", utf8.RuneCountInString(q[0].Text))
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	for want, answers := range map[string]map[string]terret.Choice{
		`{"question_0":"b"}`:                       {"question_0": {"Blue"}},
		`{"question_0":"r"}`:                       {"question_0": {"r"}},
		`{"question_0_custom":"pink"}`:             {"question_0": {"pink"}},
		`{"count":3,"many":["x","y"],"sure":true}`: {"many": {"x", "y"}, "sure": {"true"}, "count": {"3"}, "none": {"?"}},
		`{"pet":"p1","size":2.5,"sure":false}`:     {"pet": {"Cat"}, "size": {"2.5"}, "sure": {"no"}, "word": {" "}},
		`{"pet":"p2","word":"a, b"}`:               {"pet": {"p2"}, "word": {"a", "b"}},
		`the answer to sure must be Yes or No`:     {"sure": {"maybe"}},
		`the answer to count must be a whole`:      {"count": {"2.5"}},
		`the answer to size must be a number`:      {"size": {"NaN"}},
	} {
		got, err := parse(t, schema, Options{Custom: true}).Result(terret.Decision{Behavior: terret.BehaviorAnswer, Answers: answers})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", answers, err)
			}
			continue
		}
		if content, err := json.Marshal(got.Content); err != nil || got.Action != Accepted || string(content) != want {
			t.Errorf("%s %s, %v; want %s", got.Action, content, err, want)
		}
	}
	plain, err := parse(t, schema, Options{}).Result(terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"question_0": {"pink"}}})
	if err != nil || plain.Content["question_0"] != "pink" || len(plain.Content) != 1 {
		t.Errorf("%+v, %v", plain, err)
	}
	for want, d := range map[string]terret.Decision{
		Declined:  {Behavior: terret.BehaviorReject},
		Cancelled: {Behavior: terret.BehaviorAnswer, Source: terret.ByInterrupt},
	} {
		if got, err := parse(t, schema, Options{}).Result(d); err != nil || got.Action != want || got.Content != nil {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
}

// TestConfirm is a question without fields: only yes is an acceptance.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{Yes: Accepted, "yes": Accepted, No: Declined, "": Declined, "whatever": Declined} {
		d := terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{Confirm: {answer}}}
		if got, err := parse(t, "", Options{}).Result(d); err != nil || got.Action != want {
			t.Errorf("%q: %+v, %v; want %s", answer, got, err, want)
		}
	}
	both := terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{Confirm: {No, Yes}}}
	if got, err := parse(t, "", Options{}).Result(both); err != nil || got.Action != Declined {
		t.Errorf("no and yes: %+v, %v", got, err)
	}
}

// TestAnswersStay is that what the asker gets does not change what was decided.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	given := terret.Choice{"Red", "Blue"}
	d := terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"question_0": given}}
	got, err := parse(t, schema, Options{}).Result(d)
	if err != nil || got.Content["question_0"] != "r, b" || !slices.Equal([]string(given), []string{"Red", "Blue"}) {
		t.Errorf("%v, %v; the answer is now %v", got, err, given)
	}
}

func TestBadForms(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range maxFields + 1 {
		many[fmt.Sprint(i)] = map[string]any{"type": "string"}
	}
	big, err := json.Marshal(map[string]any{"properties": many})
	if err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[string]string{"[": "a form of plain fields", `{"properties":{"a":{"type":{}}}}`: "a form of plain fields", string(big): "at most 20 fields"} {
		if _, err := Parse([]byte(schema), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v", schema, err)
		}
	}
}
