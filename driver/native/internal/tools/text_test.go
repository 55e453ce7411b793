package tools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n\ttext":                           "plain\n\ttext",
		"a\r\nb\r\r\nc\rd\r":                      "a\nb\nc\nd\n",
		"\x1b[1;31mred\x1b[0m":                    "red",
		"\x1b[?25l\x1b[2K\x1b[1Gx":                "x",
		"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\": "x",
		"\x1bPq#0;2;0\x1b\\x\x1b_apc\x1b\\":       "x",
		"\x1b(Bx\x1b=y\x1bcz\x1b7":                "xyz",
		"\x1b]no end\nnext":                       "\nnext",
		"\x1b]no end\x1b[1mx":                     "x",
		"\x1b[1\nx":                               "\nx",
		"\x1b[31":                                 "",
		"x\x1b":                                   "x",
		"\x1b\x1b[1mx":                            "x",
		"a\x00b\x07c\x08d\x7fe":                   "abcde",
		"\u009b31mx":                              "31mx",
		"\xff\xc3\x28 é \xe2\x82":                 "\uFFFD\uFFFD( é \uFFFD\uFFFD",
		"日本語 🎉":                                   "日本語 🎉",
	} {
		wantText(t, want, clean([]byte(in)))
	}
}

// FuzzClean holds that a stream reads the same however it is cut in two.
func FuzzClean(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\r\n\x1b]0;t\x07é\xff"), 3)
	f.Add([]byte("\x1b(B\x1bP\x1b"), 1)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		whole := clean(b)
		if !utf8.ValidString(whole) || strings.ContainsAny(whole, "\x00\x1b\r\x07\u009b") {
			t.Errorf("%q gives %q", b, whole)
		}
		if at < 0 || at > len(b) {
			return
		}
		first, used := cleanPart(b[:at], false)
		if second := clean(b[used:]); first+second != whole {
			t.Errorf("%q in two at %d: %q and %q, not %q", b, at, first, second, whole)
		}
	})
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, outputLimit, outputLimit + 1, outputKeep, 2 * outputKeep, 3*outputKeep + 7, 10 * outputKeep} {
		for _, char := range []string{"x", "é", "\x1b[1mx"} {
			var o output
			text := strings.Repeat(char, size)
			for rest := []byte(text); len(rest) > 0; {
				n := min(len(rest), 10_007)
				o.add(rest[:n])
				rest = rest[n:]
			}
			if len(o.head)+cap(o.tail) > 8*outputKeep {
				t.Errorf("%d bytes are held", len(o.head)+cap(o.tail))
			}
			got, cut := o.text()
			shown := strings.TrimPrefix(char, "\x1b[1m")
			n := utf8.RuneCountInString(got)
			if n > outputLimit || !utf8.ValidString(got) || cut != (size > outputLimit) {
				t.Errorf("%d of %q: %d characters, cut %v", size, char, n, cut)
			}
			if !cut {
				wantText(t, strings.Repeat(shown, size), got)
				continue
			}
			wantWords(t, got, "\n[... ", " characters cut ...]\n")
			if n < outputLimit-100 || !strings.HasPrefix(got, shown+shown) || !strings.HasSuffix(got, shown+shown) {
				t.Errorf("%d of %q: %d characters", size, char, n)
			}
		}
	}
	var o output
	o.add([]byte("BEGIN" + strings.Repeat("x", 1_000_000) + "END"))
	got, _ := o.text()
	wantWords(t, got, "[... 970068 characters cut ...]")
	if !strings.HasPrefix(got, "BEGINxx") || !strings.HasSuffix(got, "xxEND") {
		t.Error("the ends are not there")
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	var o output
	step := func(in, want string) {
		t.Helper()
		o.add([]byte(in))
		wantText(t, want, o.news(progressLimit, false))
	}
	step("", "")
	step("one\n", "one\n")
	step("", "")
	step("two \xe2\x82", "two ")
	step("\xac \x1b[3", "€ ")
	step("1mred\r", "red")
	step("\nx", "\nx")
	step(strings.Repeat("é", outputKeep)+"end", strings.Repeat("é", progressLimit/2-2)+"end")
	step("\x1b]"+strings.Repeat("t", progressLimit), strings.Repeat("t", progressLimit))
	step("y", "y")
}

func TestCharacters(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "é", "plain text", "日本語のテキスト", "é日🎉a é日🎉a é日🎉a", strings.Repeat("🎉x", 100)} {
		if got, want := characters([]byte(s)), utf8.RuneCountInString(s); got != want {
			t.Errorf("%q: %d characters, want %d", s, got, want)
		}
	}
}
