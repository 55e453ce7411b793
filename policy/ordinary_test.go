package policy

import (
	"testing"

	"github.com/terret-dev/terret"
)

// ordinary are commands that agents run all day, with the rules that people make
// for them: all are allowed, also while Bash(rm *) is denied.
var ordinary = []struct {
	command string
	rules   []string
}{
	{"git status", []string{"Bash(git status)"}},
	{"git status", []string{"Bash(git *)"}},
	{"git status", []string{"Bash(git status *)"}},
	{"git status --short", []string{"Bash(git status *)"}},
	{"git status", []string{"Bash(git status:*)"}},
	{"git status -sb", []string{"Bash(git:*)"}},
	{"  git   status  ", []string{"Bash(git status)"}},
	{"git log --oneline -20", []string{"Bash(git log *)"}},
	{"git log --format='%h %s' -5", []string{"Bash(git log *)"}},
	{"git log --format=%h", []string{"Bash(git log --format=*)"}},
	{"git diff HEAD~1 -- src/main.go", []string{"Bash(git diff *)"}},
	{"git show HEAD:src/main.go", []string{"Bash(git show *)"}},
	{"git add -A && git commit -m 'fix: a thing'", []string{"Bash(git add *)", "Bash(git commit *)"}},
	{"git commit -m \"$(cat <<'EOF'\nfix: a thing\n\nIt was broken; rm was not the cause.\nEOF\n)\"", []string{"Bash(git commit *)", "Bash(cat)"}},
	{"git commit -am \"$(cat <<'EOF'\nfix\nEOF\n)\"", []string{"Bash(git commit *)", "Bash(cat *)"}},
	{"git --no-pager log -3", []string{"Bash(git *)"}},
	{"git -C sub status", []string{"Bash(git -C sub *)"}},
	{"git -c color.ui=never diff", []string{"Bash(git *)"}},
	{"git stash list", []string{"Bash(git stash *)"}},
	{"git show stash@{0}", []string{"Bash(git show *)"}},
	{"git rev-parse --abbrev-ref HEAD", []string{"Bash(git rev-parse *)"}},
	{"git rm --cached x", []string{"Bash(git rm *)"}},
	{"git branch --show-current 2>/dev/null", []string{"Bash(git branch *)"}},
	{"git log -1 | cat", []string{"Bash(git log *)", "Bash(cat)"}},
	{"go test ./...", []string{"Bash(go test *)"}},
	{"go test ./... 2>&1 | tail -5", []string{"Bash(go test *)", "Bash(tail *)"}},
	{"go test -run 'TestA|TestB' -count=1 ./policy", []string{"Bash(go test *)"}},
	{"go vet ./... && go build ./...", []string{"Bash(go *)"}},
	{"CGO_ENABLED=0 go build ./...", []string{"Bash(go build *)"}},
	{"GOOS=linux GOARCH=arm64 go build -o out/x .", []string{"Bash(go build *)"}},
	{"cd sub && make", []string{"Bash(make)"}},
	{"cd sub && make test", []string{"Bash(make *)"}},
	{"cd /repo/sub && ls -la", []string{"Bash(ls *)"}},
	{"(cd sub && ls)", []string{"Bash(ls *)"}},
	{"make -j4 test", []string{"Bash(make *)"}},
	{"npm test", []string{"Bash(npm test)"}},
	{"npm run build --silent", []string{"Bash(npm run build:*)"}},
	{"npm run test:unit", []string{"Bash(npm run test*)"}},
	{"npx eslint --fix src", []string{"Bash(npx eslint *)"}},
	{"cargo test --all", []string{"Bash(cargo test *)"}},
	{"pytest -q tests/", []string{"Bash(pytest *)"}},
	{"python3 -m pytest -q", []string{"Bash(python3 -m pytest *)"}},
	{"python3 manage.py migrate", []string{"Bash(python3 manage.py *)"}},
	{"node scripts/build.js --watch", []string{"Bash(node scripts/build.js *)"}},
	{"node --version", []string{"Bash(node *)"}},
	{"./scripts/check.sh --all", []string{"Bash(./scripts/check.sh *)"}},
	{"./scripts/check.sh", []string{"Bash(./scripts/*.sh)"}},
	{"ls", []string{"Bash(ls *)"}},
	{"ls -la src/*.go", []string{"Bash(ls *)"}},
	{"ls $HOME", []string{"Bash(ls *)"}},
	{"ls \"$DIR\"", []string{"Bash(ls *)"}},
	{"cat go.mod | head -3", []string{"Bash(cat *)", "Bash(head *)"}},
	{"wc -l *.go | sort -n | tail -3", []string{"Bash(wc *)", "Bash(sort *)", "Bash(tail *)"}},
	{"grep -rn 'rm -rf' .", []string{"Bash(grep *)"}},
	{"grep -n \"a\\|b\" f.go", []string{"Bash(grep *)"}},
	{"rg -n TODO src", []string{"Bash(rg *)"}},
	{"find . -name '*.go' -not -path './vendor/*'", []string{"Bash(find *)"}},
	{"find . -type f -name \"*.md\" | wc -l", []string{"Bash(find *)", "Bash(wc *)"}},
	{"find . -name '*.go' -exec wc -l {} +", []string{"Bash(find *)", "Bash(wc *)"}},
	{"find . -name '*.go' | xargs wc -l", []string{"Bash(find *)", "Bash(wc *)"}},
	{"git ls-files | xargs -n 10 grep -l TODO", []string{"Bash(git ls-files)", "Bash(grep *)"}},
	{"sed -n '1,20p' f.go", []string{"Bash(sed *)"}},
	{"sed 's/a/b/g' f.go", []string{"Bash(sed *)"}},
	{"sed -e 's|a|b|' -e '/x/d' f", []string{"Bash(sed *)"}},
	{"awk '{print $1}' f", []string{"Bash(awk *)"}},
	{"awk -F: '$1 == \"a\" || $2 {n++} END {print n}' f", []string{"Bash(awk *)"}},
	{"tar czf out.tgz src", []string{"Bash(tar *)"}},
	{"jq '.a[] | .b' f.json", []string{"Bash(jq *)"}},
	{"curl -s https://example.com/x | jq .", []string{"Bash(curl -s https://example.com/*)", "Bash(jq *)"}},
	{"timeout 60 go test ./...", []string{"Bash(go test *)"}},
	{"nice -n 10 make", []string{"Bash(make)"}},
	{"time go build ./...", []string{"Bash(go build *)"}},
	{"env CI=1 npm test", []string{"Bash(npm test)"}},
	{"CI=1 npm test", []string{"Bash(npm test)"}},
	{"/usr/bin/git status", []string{"Bash(git status)"}},
	{"bash -c 'git status && go test ./...'", []string{"Bash(git status)", "Bash(go test *)"}},
	{"/bin/bash -lc 'go test ./... 2>&1 | tail -20'", []string{"Bash(go test *)", "Bash(tail *)"}},
	{"set -euo pipefail; go vet ./...", []string{"Bash(go vet *)"}},
	{"echo '--- tests'; go test ./...; echo done", []string{"Bash(go test *)"}},
	{"go build ./... && echo ok || echo failed", []string{"Bash(go build *)"}},
	{"if [ -f go.mod ]; then go test ./...; fi", []string{"Bash(go test *)"}},
	{"[ -n \"$CI\" ] && go test ./...", []string{"Bash(go test *)"}},
	{"for f in a b c; do wc -l $f; done", []string{"Bash(wc *)"}},
	{"for d in */; do ls \"$d\"; done", []string{"Bash(ls *)"}},
	{"while read -r line; do wc -c \"$line\"; done", []string{"Bash(wc *)"}},
	{"n=$(git rev-list --count HEAD); echo \"$n\"", []string{"Bash(git rev-list *)", "Bash(echo *)"}},
	{"echo \"$(git rev-parse HEAD)\"", []string{"Bash(git rev-parse *)", "Bash(echo *)"}},
	{"diff <(git show HEAD:a) <(cat a)", []string{"Bash(diff *)", "Bash(git show *)", "Bash(cat *)"}},
	{"command -v go && go version", []string{"Bash(go version)"}},
	{"sleep 2 && curl -s localhost:8080/health", []string{"Bash(curl -s localhost:*)", "Bash(curl -s *)"}},
	{"go test ./... > out/test.log 2>&1", []string{"Bash(go test *)", "Edit(out/**)"}},
	{"sort < src/list.txt", []string{"Bash(sort *)", "Read(src/**)"}},
	{"cat <<'EOF' > out/x.md\n# a $(rm -rf x) title\nEOF", []string{"Bash(cat *)", "Edit(out/*.md)"}},
	{"docker ps -a", []string{"Bash(docker ps *)"}},
	{"kubectl get pods -n x", []string{"Bash(kubectl get *)"}},
	{"gh pr list --limit 5", []string{"Bash(gh pr *)"}},
	{"psql -c 'select 1'", []string{"Bash(psql -c 'select 1')"}},
	{"sudo apt list", []string{"Bash(sudo apt list)"}},
	{"ls -la # the files", []string{"Bash(ls *)"}},
	{"go test \\\n  -race \\\n  ./...", []string{"Bash(go test *)"}},
	{"echo héllo wörld 日本", []string{"Bash(echo *)"}},
	{"sleep 30; touch z", []string{"Bash(sleep 30; touch z)"}},
	{"python3 -c 'print(1)'", []string{"Bash(python3 -c 'print(1)')"}},
	{"eval \"$(ssh-agent)\"; anything $x", []string{"Bash"}},
}

// opaqueRows are rows above that an exact rule or the whole tool allows, and
// that a deny rule for the shell puts in doubt all the same.
var opaqueRows = map[string]bool{
	"psql -c 'select 1'": true, "python3 -c 'print(1)'": true, "eval \"$(ssh-agent)\"; anything $x": true,
}

func TestOrdinaryCommands(t *testing.T) {
	t.Parallel()
	if len(ordinary) < 60 {
		t.Fatalf("the table has %d rows, want at least 60", len(ordinary))
	}
	for _, row := range ordinary {
		t.Run(row.command, func(t *testing.T) {
			t.Parallel()
			s := bash(row.command)
			got := Judge(s, allow(row.rules...), terret.PolicyAsk)
			if got.Behavior != terret.BehaviorAllow || got.Rule == nil {
				t.Errorf("got %s (%s), want allow; it is %+v", got.Behavior, got.Reason, partsOf(s))
			}
			withDeny := append(allow(row.rules...), deny("Bash(rm *)", "Bash(git push *)", "Edit(~/.ssh/**)")...)
			want := terret.BehaviorAllow
			if opaqueRows[row.command] {
				want = terret.BehaviorAsk
			}
			if got := Judge(s, withDeny, terret.PolicyAsk); got.Behavior != want {
				t.Errorf("with deny rules: %s (%s), want %s", got.Behavior, got.Reason, want)
			}
			if got := Judge(s, nil, terret.PolicyAsk); got.Behavior != terret.BehaviorAsk {
				t.Errorf("without rules: %s, want ask", got.Behavior)
			}
			if got := Judge(s, deny("Bash(rm *)"), terret.PolicyAutoApprove); got.Behavior != want {
				t.Errorf("auto-approve with Bash(rm *) denied: %s (%s), want %s", got.Behavior, got.Reason, want)
			}
		})
	}
}
