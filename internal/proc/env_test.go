package proc

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a build needs passes; what is a secret, chooses an account, or is the project's
// own does not.
func TestFilterEnv(t *testing.T) {
	t.Parallel()
	pass := []string{
		"PATH=/bin", "HOME=/root", "USER=u", "SHELL=/bin/sh", "TERM=xterm", "LANG=C", "LC_ALL=C", "TMPDIR=/tmp", "XDG_CACHE_HOME=/c",
		"NODE_ENV=test", "NODE_OPTIONS=--x", "=C:=C:\\", "PATH=/again", "PWD=/x", "OLDPWD=/y", "SSH_AUTH_SOCK=/s", "GIT_ASKPASS=/a",
		"https_proxy=http://u:p@proxy:3128", "NO_PROXY=x", "GIT_SSH_COMMAND=ssh -o BatchMode=yes", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.https://u:p@host.insteadOf", "GIT_CONFIG_VALUE_0=https://u:p@host", "GIT_AUTHOR_NAME=n",
		"GOPATH=/go", "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "JAVA_HOME=/j", "NVM_DIR=/n", "VIRTUAL_ENV=/v", "CARGO_HOME=/c", "RUSTFLAGS=x",
		"npm_config_registry=https://registry.example", "PIP_INDEX_URL=https://pypi.example/simple", "GRADLE_OPTS=x", "DOCKER_HOST=ssh://me@host",
		"MAKEFLAGS=-j", "CFLAGS=-O2", "CI=1", "SYSTEMROOT=C:\\Windows", "OTEL_SERVICE_NAME=x",
	}
	strip := []string{
		"APP_SECRET=1", "DB_PASSWORD=1", "X_CREDENTIAL=1", "AWS_CREDENTIALS=1", "SSH_KEY=1", "GITHUB_TOKEN=1",
		"ANTHROPIC_API_KEY=1", "OPENAI_API_KEY=1", "DATABASE_URL=1", "REDIS_URL=1", "TERRET_TOKEN=1", "TERRET_OWNER=1",
		"TERRET_HOME=1", "github_token=1", "Database_Url=1", "terret_x=1", "_KEY=1", "CLAUDE_CODE_OAUTH_TOKEN=1", "BARE_TOKEN",
		"MYSQL_PWD=1", "MONGODB_URI=1", "GH_PAT=1", "SSHPASS=1", "DOCKER_AUTH_CONFIG=1", "SLACK_WEBHOOK_URL=1", "PGPASSWORD=1",
		"SERVICE=https://user:word@host/path", "SENTRY_DSN=1",
		// Nothing in these names looks secret.
		"STRIPE_LIVE=1", "MY_APP_SETTING=1", "AWS_PROFILE=prod", "AWS_REGION=x", "KUBECONFIG=/k", "GOOGLE_CLOUD_PROJECT=p", "DIRENV_DIFF=x",
		"BUNDLE_GEMS__EXAMPLE__COM=user:word", "ORG_GRADLE_PROJECT_signing=x", "GOOGLE_X=1", "EMPTY=",
		// A usual prefix does not help a secret.
		"NPM_CONFIG__AUTHTOKEN=1", "NODE_AUTH_TOKEN=1", "POETRY_PYPI_TOKEN_PYPI=1", "CARGO_REGISTRIES_X_TOKEN=1", "COMPOSER_AUTH=1", "UV_INDEX_X_PASSWORD=1",
		"PIP_EXTRA_INDEX_URL=https://token@pypi.example/simple", "NPM_CONFIG_REGISTRY=https://u:p@r.example", "HOMEBREW_GITHUB_API_TOKEN=1",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=1",
	}
	mixed := slices.Concat(strip[:7], pass, strip[7:])
	before := slices.Clone(mixed)
	if diff := cmp.Diff(pass, FilterEnv(mixed)); diff != "" {
		t.Errorf("without exceptions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, mixed); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"APP_SECRET", "NPM_TOKEN"}, KeptOut([]string{"NPM_TOKEN=1", "PATH=x", "APP_SECRET=1", "NPM_TOKEN=2"})); diff != "" {
		t.Errorf("kept out (-want +got):\n%s", diff)
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
		{[]string{"aws_*"}, []string{"AWS_CREDENTIALS=1", "AWS_PROFILE=prod", "AWS_REGION=x"}},
		{[]string{"*", "GH_PAT"}, []string{
			"GH_PAT=1", "STRIPE_LIVE=1", "MY_APP_SETTING=1", "AWS_PROFILE=prod", "AWS_REGION=x", "KUBECONFIG=/k", "GOOGLE_CLOUD_PROJECT=p", "DIRENV_DIFF=x",
			"BUNDLE_GEMS__EXAMPLE__COM=user:word", "ORG_GRADLE_PROJECT_signing=x", "GOOGLE_X=1", "EMPTY=",
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, FilterEnv(strip, tt.allow...)); diff != "" {
			t.Errorf("allow %q (-want +got):\n%s", tt.allow, diff)
		}
	}
}

// A usual name is in upper case, listed once, and covers no cloud's account.
func TestUsualNames(t *testing.T) {
	t.Parallel()
	for i, name := range usual {
		if name != strings.ToUpper(name) || slices.Contains(usual[i+1:], name) || len(strings.TrimSuffix(name, "*")) < 1 {
			t.Errorf("%q is not in upper case, twice in the list, or covers everything", name)
		}
		for _, account := range []string{"AWS_PROFILE", "GOOGLE_CLOUD_PROJECT", "AZURE_TENANT_ID", "KUBECONFIG", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "TERRET_HOME"} {
			if matches(name, account) {
				t.Errorf("%q covers %s", name, account)
			}
		}
	}
}
