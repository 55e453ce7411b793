package proc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilterEnv(t *testing.T) {
	t.Parallel()
	pass := []string{
		"PATH=/bin", "HOME=/root", "USER=u", "SHELL=/bin/sh", "TERM=xterm", "LANG=C", "LC_ALL=C", "TMPDIR=/tmp",
		"NODE_ENV=test", "NODE_OPTIONS=--x", "KEYBOARD=us", "TOKENS=3", "KEY=plain", "TERRETX=1", "EMPTY=",
		"DATABASE_URLS=x", "A=B_TOKEN=x", "=C:=C:\\", "PATH=/again",
		"PWD=/x", "OLDPWD=/y", "SSH_AUTH_SOCK=/s", "GIT_ASKPASS=/a", "HTTPS_PROXY=http://u:p@proxy:3128", "HOMEPAGE=https://example.com/a@b", "REPO=ssh://git@host/x",
	}
	strip := []string{
		"APP_SECRET=1", "DB_PASSWORD=1", "X_CREDENTIAL=1", "AWS_CREDENTIALS=1", "SSH_KEY=1", "GITHUB_TOKEN=1",
		"ANTHROPIC_API_KEY=1", "OPENAI_API_KEY=1", "DATABASE_URL=1", "REDIS_URL=1", "TERRET_TOKEN=1", "TERRET_OWNER=1",
		"TERRET_HOME=1", "github_token=1", "Database_Url=1", "terret_x=1", "_KEY=1", "CLAUDE_CODE_OAUTH_TOKEN=1", "BARE_TOKEN",
		"MYSQL_PWD=1", "MONGODB_URI=1", "GH_PAT=1", "SSHPASS=1", "DOCKER_AUTH_CONFIG=1", "SLACK_WEBHOOK_URL=1", "PGPASSWORD=1",
		"SERVICE=https://user:word@host/path", "SENTRY_DSN=1",
	}
	mixed := slices.Concat(strip[:7], pass, strip[7:])
	before := slices.Clone(mixed)
	if diff := cmp.Diff(pass, FilterEnv(mixed)); diff != "" {
		t.Errorf("without exceptions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, mixed); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	tests := []struct {
		allow []string
		want  []string
	}{
		{[]string{"ANTHROPIC_API_KEY"}, []string{"ANTHROPIC_API_KEY=1"}},
		{[]string{"anthropic_api_key", "NOT_THERE"}, []string{"ANTHROPIC_API_KEY=1"}},
		{[]string{"ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN"}, []string{"ANTHROPIC_API_KEY=1", "CLAUDE_CODE_OAUTH_TOKEN=1"}},
		{[]string{"ANTHROPIC"}, []string{}},
		{[]string{"Github_*"}, []string{"GITHUB_TOKEN=1", "github_token=1"}},
		{[]string{"TERRET_HOME"}, []string{"TERRET_HOME=1"}},
		{[]string{""}, []string{}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, FilterEnv(strip, tt.allow...)); diff != "" {
			t.Errorf("allow %q (-want +got):\n%s", tt.allow, diff)
		}
	}
}
