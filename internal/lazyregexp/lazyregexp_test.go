package lazyregexp

import "testing"

// TestNew holds that an expression is compiled when it is first used, and in tests at once.
func TestNew(t *testing.T) {
	if !inTest {
		t.Fatal("this is not taken for a test")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a wrong expression was taken")
			}
		}()
		New("(")
	}()
	inTest = false
	defer func() { inTest = true }()
	wrong := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was used")
		}
	}()
	wrong.MatchString("x")
}

func TestMethods(t *testing.T) {
	r := New(`a(b)`)
	if !r.MatchString("xab") || r.MatchString("a") || r.FindStringSubmatch("ab")[1] != "b" || r.ReplaceAllString("ab", "c") != "c" || len(r.Split("1ab2", -1)) != 2 {
		t.Error("it does not match as it should")
	}
}
