package redact

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// inPieces redacts a text that is cut at the given places.
func inPieces(r *Redactor, text string, cuts ...int) string {
	p := r.Pieces()
	var out strings.Builder
	at := 0
	for _, cut := range append(cuts, len(text)) {
		out.WriteString(p.Next(text[at:cut]))
		at = cut
	}
	return out.String()
}

func TestSplitSecretNeverComesOut(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"PLAIN_KEY": plain, "ODD_SECRET": canary})
	for text, secret := range map[string]string{
		"before " + plain + " after":                 plain,
		plain + plain:                                plain,
		`{"a":"` + jsonHTML(canary) + `"}`:           jsonHTML(canary),
		"x " + antKey + " y":                         antKey,
		"Bearer " + ghKey + "\n":                     ghKey,
		"task-force-0123456789-abcdefghij " + awsKey: awsKey,
		`\nsk-proj-0123456789-abcdefghij`:            "sk-proj-0123456789-abcdefghij",
		"é" + canary + "é日本":                         canary,
	} {
		if got := inPieces(r, text); got != r.String(text) {
			t.Errorf("%q in one piece: %q", text, got)
		}
		check := func(got string, at ...int) {
			if strings.Contains(got, secret[:len(secret)/2]) || strings.Contains(got, secret[len(secret)/2:]) {
				t.Fatalf("%q cut at %v: %q", text, at, got)
			}
		}
		for i := range len(text) + 1 {
			for j := i; j <= len(text); j++ {
				check(inPieces(r, text, i, j), i, j)
			}
		}
		one := make([]int, len(text))
		for i := range one {
			one[i] = i
		}
		check(inPieces(r, text, one...))
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	for cut := range len(plain) + 1 {
		p := New(map[string]string{"K": plain}).Pieces()
		first, second := p.Next("line one "+plain[:cut]), p.Next(plain[cut:]+" line two")
		shown := first + second
		for n := telling + 1; n <= len(plain); n++ {
			if strings.Contains(shown, plain[:n]) || strings.Contains(shown, plain[len(plain)-n:]) {
				t.Errorf("cut at %d: %q, %q", cut, first, second)
				break
			}
		}
		if !strings.HasPrefix(first, "line one ") || !strings.HasSuffix(second, " line two") {
			t.Errorf("cut at %d: too much is gone: %q, %q", cut, first, second)
		}
	}
	p := New(nil).Pieces()
	for _, line := range []string{"this is a task", "-force of 12345678901234567890", "s", "", "done"} {
		if got := p.Next(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

// A key may be as long as it likes: memory and time stay bounded.
func TestEndlessKey(t *testing.T) {
	t.Parallel()
	p := New(nil).Pieces()
	for range 3 * maxTail / 4 {
		p.Next("sk-1")
		if len(p.carry) > maxTail+maxBegin {
			t.Fatalf("%d bytes are held", len(p.carry))
		}
	}
	text := strings.Repeat("sk-", 1<<20)
	if got := New(nil).String(text); len(got) > len(text)/100 {
		t.Errorf("%d bytes left", len(got))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("text with ", "s3cr3t-value", " and more", uint8(3), uint8(9))
	f.Add("{\"a\":\"", "quo\"ted\\secret\n", "\"}", uint8(1), uint8(2))
	f.Add("Bearer ", antKey, "é", uint8(7), uint8(30))
	f.Add("\\n", ghKey, awsKey, uint8(0), uint8(200))
	f.Fuzz(func(t *testing.T, before, secret, after string, first, second uint8) {
		secret = strings.TrimSpace(secret)
		if strings.Contains(unnamed+"[redacted:S]", secret) || strings.ContainsAny(secret, "[]") {
			t.Skip("it is part of the marks")
		}
		r := New(map[string]string{"S": secret})
		text := before + secret + after + jsonHTML(secret)
		want := r.String(text)
		i := int(first) % (len(text) + 1)
		j := i + int(second)%(len(text)-i+1)
		got := inPieces(r, text, i, j)
		if len(secret) >= minLength && (strings.Contains(got, secret) || strings.Contains(want, secret)) {
			t.Errorf("cut at %d and %d, %q came out: %q, whole %q", i, j, secret, got, want)
		}
		if string(r.Bytes([]byte(text))) != want {
			t.Error("Bytes and String differ")
		}
		if utf8.ValidString(text) && utf8.ValidString(secret) && !utf8.ValidString(want) {
			t.Errorf("broken text: %q", want)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("Nothing to see here: sk, gh, AKIA, Bearer.", uint8(5))
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		// In small letters, without digits, dashes and spaces, there is no key and no
		// secret of ours.
		text = strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c == '-' || c == '_' || c == ' ' {
				return ','
			}
			return unicode.ToLower(c)
		}, text)
		r := New(map[string]string{"K": plain, "L": "0123-4567_89"})
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got := inPieces(r, text, int(cut)%(len(text)+1)); got != text {
			t.Errorf("%q in pieces became %q", text, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	secrets := map[string]string{}
	for i := range 12 {
		secrets[fmt.Sprintf("S%d_KEY", i)] = fmt.Sprintf("%s%02d%s", plain[i:], i, antKey[i:])
	}
	r := New(secrets)
	prose := []byte(strings.Repeat("The bearer of this task asks the agent to be quick, and to keep its keys to itself.\n", 1<<13))
	code := []byte(strings.Repeat("\tif err := json.Unmarshal(body, &w); err != nil { return fmt.Errorf(\"decode: %w\", err) }\n", 1<<13))
	for name, text := range map[string][]byte{"prose": prose, "code": code} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Bytes(text)
			}
		})
	}
}

func BenchmarkPieces(b *testing.B) {
	p := New(map[string]string{"K": plain}).Pieces()
	b.SetBytes(6)
	b.ReportAllocs()
	for b.Loop() {
		p.Next("delta ")
	}
}
