package policy

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestCorners is about rules and inputs that are rare, one of each.
func TestCorners(t *testing.T) {
	t.Parallel()
	use := func(tool string, input []byte) Subject {
		return Subject{Tool: tool, Class: tools[tool].class, Input: input, Cwd: "/repo", Roots: []string{"/repo"}, Home: "/home/dev", Readlink: noLinks}
	}
	homeless := use("Read", object("file_path", "/home/dev/.ssh/id"))
	homeless.Home = ""
	nowhere := use("Edit", object("file_path", "a"))
	nowhere.Cwd, nowhere.Roots = "", nil
	for name, c := range map[string]struct {
		s     Subject
		rules []terret.Rule
		want  terret.Behavior
	}{
		// Globs of deny rules, and words of which a part is known.
		"a class may match":             {bash("cat src/$x"), deny("Read(src/[ab].env)"), asked},
		"alternatives may match":        {bash("cat src/$x"), deny("Read(src/{a,b}.env)"), asked},
		"a class elsewhere":             {bash("cat src/$x"), deny("Read(/lib/[ab].env)"), asked},
		"a variable may go up":          {bash("cat src/$x"), deny("Read(/lib/secret)"), asked},
		"a variable, below what is":     {bash("cat src/$x.go"), deny("Read(/lib/secret)"), asked},
		"a variable, another ending":    {bash("cat src/$x.go"), deny("Read(/lib/*.env)"), asked},
		"a variable, with that ending":  {bash("cat src/$x.env"), deny("Read(/lib/a.env)"), asked},
		"dots after a variable":         {bash("cat src/$x/../y"), deny("Read(/lib/secret)"), asked},
		"dots after a star":             {bash("cat src/*/../../lib/secret"), deny("Read(/lib/secret)"), asked},
		"dots at the end":               {bash("grep -r x src/*/.."), deny("Read(/lib/secret)"), asked},
		"a star that may be dots":       {bash("cat src/.*/lib/secret"), deny("Read(/lib/secret)"), asked},
		"a question mark that may be":   {bash("cat src/.?/lib/secret"), deny("Read(/lib/secret)"), asked},
		"a star stays in its folder":    {bash("cat src/*"), deny("Read(/lib/secret)"), terret.BehaviorAllow},
		"written by a variable":         {bash("echo x > out/$x"), deny("Edit(/lib/secret)"), asked},
		"an escaped star may match":     {bash("cat 'a'$x"), deny(`Read(a\*b)`), asked},
		"an escaped star, literally":    {use("Read", object("file_path", "a*b")), deny(`Read(a\*b)`), denied},
		"an escaped star is no glob":    {use("Read", object("file_path", "axb")), deny(`Read(a\*b)`), terret.BehaviorAllow},
		"a question mark is one":        {use("Read", object("file_path", "ab")), deny("Read(a?)"), denied},
		"a question mark is not two":    {use("Read", object("file_path", "abc")), deny("Read(a?)"), terret.BehaviorAllow},
		"a class":                       {use("Read", object("file_path", "b.env")), deny("Read([ab].env)"), denied},
		"not in the class":              {use("Read", object("file_path", "c.env")), deny("Read([ab].env)"), terret.BehaviorAllow},
		"alternatives":                  {use("Read", object("file_path", "x/b.env")), deny("Read({a,b}.env)"), denied},
		"the whole home":                {use("Read", object("file_path", "/home/dev/notes/x")), deny("Read(~)"), denied},
		"the home, in the shell":        {bash("cat ~/notes"), deny("Read(~)"), denied},
		"beside the home":               {use("Read", object("file_path", "/home/dev2/x")), deny("Read(~)"), terret.BehaviorAllow},
		"no home, nothing is allowed":   {homeless, allow("Read(~/.ssh/**)"), asked},
		"a file of that name":           {use("Edit", object("file_path", "./~/x")), allow("Edit(~/x)"), asked},
		"no folder, nothing is allowed": {nowhere, allow("Edit(a)"), asked},

		// Tools that name what they use in other ways.
		"paths as keys":           {use("Edit", object("changes", map[string]any{"src/a": 1, "secret": 2})), deny("Edit(secret)"), denied},
		"paths in objects":        {use("Edit", object("edits", []any{map[string]any{"move_path": "secret"}})), deny("Edit(secret)"), denied},
		"paths in a list":         {use("Read", object("file_paths", []string{"a", "secret"})), deny("Read(secret)"), denied},
		"one of them not allowed": {use("Read", object("paths", []string{"src/a", "b"})), allow("Read(src/**)"), asked},
		"a unified diff":          {use("apply_patch", object("diff", "--- a/src/x\n+++ b/secret\t2026\n@@\n")), deny("Edit(secret)"), denied},
		"a rename":                {use("apply_patch", object("patch", "rename from src/x\nrename to secret\n")), deny("Edit(secret)"), denied},
		"Windows line ends":       {use("apply_patch", object("input", "*** Delete File: secret\r\n")), deny("Edit(secret)"), denied},
		"bytes after the object":  {use("Edit", append(object("file_path", "src/a"), []byte(` {}`)...)), allow("Edit(src/**)"), asked},
		"half an object":          {use("Edit", []byte(`{"file_path":"src/a"`)), allow("Edit(src/**)"), asked},
		"half a value":            {use("Edit", []byte(`{"file_path":"src`)), allow("Edit(src/**)"), asked},
		"no object":               {use("Edit", []byte(`"src/a"`)), allow("Edit(src/**)"), asked},
		"no input":                {use("Edit", nil), allow("Edit(src/**)"), asked},

		// Addresses.
		"no address":             {use("WebFetch", object("prompt", "x")), deny("WebFetch(domain:evil.example)"), asked},
		"several addresses":      {use("WebFetch", object("urls", []string{"https://go.dev", "https://evil.example"})), deny("WebFetch(domain:evil.example)"), denied},
		"one not allowed":        {use("WebFetch", object("urls", []string{"https://go.dev", "https://evil.example"})), allow("WebFetch(domain:go.dev)"), asked},
		"an unclear address":     {use("WebFetch", object("url", `https://go.dev\@evil.example`)), deny("WebFetch(domain:other.example)"), asked},
		"a subdomain is another": {use("WebFetch", object("url", "https://a.evil.example")), deny("WebFetch(domain:evil.example)"), terret.BehaviorAllow},
		"any subdomain":          {use("WebFetch", object("url", "https://a.b.evil.example")), deny("WebFetch(domain:*.evil.example)"), denied},
		"in capitals":            {use("WebFetch", object("url", "HTTPS://EVIL.EXAMPLE")), deny("WebFetch(domain:evil.example)"), denied},
		"by its port":            {use("WebFetch", object("url", "https://evil.example:8443/x")), deny("WebFetch(domain:evil.example)"), denied},

		// Variables and declarations.
		"an array index that runs":  {bash("x[$(rm a)]=1; ls"), append(allow("Bash(ls *)"), deny("Bash(rm *)")...), denied},
		"an array that runs":        {bash("x=($(rm a)); ls"), append(allow("Bash(ls *)"), deny("Bash(rm *)")...), denied},
		"arithmetic that evaluates": {bash("(( x[$y] )); ls"), allow("Bash(ls *)"), asked},
		"declare with a computed":   {bash("declare $x; ls"), allow("Bash(ls *)"), asked},
		"export of a path":          {bash("export PATH=. && ls"), allow("Bash(ls *)", "Bash(export *)"), asked},
		"a variable of the program": {bash("FOO=1 ls"), allow("Bash(ls *)"), asked},
	} {
		p := terret.PolicyRules
		if c.rules[0].Effect == terret.EffectDeny {
			p = terret.PolicyAutoApprove // so that only the deny rule can stop it
		}
		if got := Judge(c.s, c.rules, p); got.Behavior != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Behavior, got.Reason, c.want)
		}
	}
}
