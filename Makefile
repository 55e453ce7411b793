# Terret. `make` alone lists the commands.
#
# Building and running needs Go and git. scripts/setup.sh installs what the tests need
# besides, or says how to.

SHELL := /bin/bash
.DEFAULT_GOAL := help
export CGO_ENABLED := 0
export GO ?= go
BIN   := bin
TOOLS := $(abspath $(BIN))/tools
export PATH := $(TOOLS):$(PATH)
FLAGS := -trimpath -ldflags='-s -w'

.PHONY: help
help: ## list the commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/terret (a minute, then seconds)
	$(GO) build $(FLAGS) -o $(BIN)/terret ./cmd/terret

.PHONY: changelog
changelog: ## put the changes since the last release into CHANGELOG.md (VERSION=0.1.0; seconds)
	@scripts/changelog.sh $(VERSION)

.PHONY: run
run: build ## serve the web UI and open it; needs only Go and git
	$(BIN)/terret serve --open

.PHONY: chat
chat: build ## chat with an agent in the terminal
	$(BIN)/terret chat

.PHONY: test
test: ## test everything but the matrix of agents and Firefox; installs what is missing, or says how to (about ten minutes)
	@scripts/setup.sh compiler curl node browser postgres variants || [ $$? = 3 ]
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory fleet
	@$(MAKE) --no-print-directory web-test

# SINCE=REV: what has changed since then. By default, since this branch left the one it follows.
.PHONY: quick
quick: ## first answers: generated files, format, lint, and the tests of what has changed and what depends on it (minutes)
	@$(MAKE) --no-print-directory fresh lint
	@scripts/quick.sh $(SINCE)

.PHONY: unit
unit: ## run the tests that need only Go and git: no network, no agent, no C compiler (minutes)
	$(GO) test ./...

# SQLite is C, translated to Go: the race detector would see nothing of ours in it, and
# takes three times as long with it.
C_WITHOUT_RACE := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

.PHONY: race
race: ## run the same, with the race detector where things run at once, if there is a C compiler (minutes)
	@if scripts/setup.sh compiler; then \
		echo "$(GO) test -race, in packages in which things run at once"; CGO_ENABLED=1 $(GO) test -p 3 -race $(C_WITHOUT_RACE) -timeout 20m $$(scripts/concurrent.sh yes) && \
		echo "$(GO) test, in the others" && $(GO) test -p 3 -timeout 20m $$(scripts/concurrent.sh no); \
	elif [ -n "$$CI" ]; then exit 1; \
	else echo "no C compiler: testing without the race detector"; $(GO) test -timeout 20m ./...; fi

# Tests whose outcome can depend on the store, by their names: who owns a session, what is
# committed, queued and decided, what is read and in which order. ALL=1 runs all tests.
ON_POSTGRES = $(if $(ALL),.,Recover|Takeover|Owner|Lease|Paused|Claim|Lost|GivenBack|Other|Another|Foreign|Elsewhere|Move|Node|Note|Drain|Fleet|Fail|OnDisk|Synced|Commit|Sync|Unknown|Cursor|Stream|Reader|Events|Live|Queue|Drop|Twice|Once|Idempot|Decide|Decision|Answer|Request|Rules|Undo|Parent|Usage|Update|Delete|Search|Transfer|Import|Messages|Marks|ListSessions|Push|Repo|Placement|WorkCount)

.PHONY: fleet
fleet: ## run what depends on the store in the suites of the engine and the HTTP API on a real PostgreSQL, if there is one (minutes)
	@if scripts/setup.sh postgres; then echo "$(GO) test ./engine ./internal/server/httpapi, on PostgreSQL"; \
		TERRET_TEST_POSTGRES=1 TERRET_TEST_STORE=postgres $(GO) test -timeout 15m -run '$(ON_POSTGRES)' ./engine ./internal/server/httpapi; \
	elif [ -n "$$CI" ]; then exit 1; \
	else echo "no PostgreSQL: the suites ran on SQLite only"; fi

.PHONY: drill
drill: ## run three nodes with many sessions on a PostgreSQL, and fail them one after the other (minutes; in network namespaces as root)
	TERRET_TEST_POSTGRES=1 TERRET_DRILL=$${SESSIONS:-200} TERRET_DRILL_PAUSE=$${PAUSE:-60s} $(GO) test -timeout 15m -count 1 -run TestDrill ./engine -v | grep -v '^=== '

.PHONY: conformance
conformance: agents/node_modules/.stamp ## test with every real agent, and write docs/CONFORMANCE.md (half an hour)
	@scripts/setup.sh curl variants || [ $$? = 3 ]
	@scripts/conformance.sh

.PHONY: drift
drift: ## run the driver suite on the newest agents and show what they do differently (needs the network)
	agents/drift.sh

# The agents are reinstalled when the lock is newer.
agents/node_modules/.stamp: agents/package-lock.json agents/install.sh
	agents/install.sh

.PHONY: bench
bench: ## measure, and write docs/BENCHMARKS.md
	$(GO) run ./test/bench -write docs/BENCHMARKS.md

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (default 20s)
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${FUZZTIME:-20s} $$p || exit 1; done; done

# SINCE=REV tries only lines that changed since; PACKAGES, SAMPLE and SKIP bound it further.
.PHONY: mutants
mutants: ## change the code a bit at a time and list what no test notices (takes hours; set PACKAGES, SINCE, SAMPLE)
	$(GO) run ./test/mutants -base '$(SINCE)' -sample $(or $(SAMPLE),0) -skip '$(SKIP)' $(or $(PACKAGES),./policy ./engine ./store ./driver/claude ./driver/codex ./driver/opencode ./driver/pi ./driver/acp ./internal/server/access)

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## format the code (minutes at first)
	$(TOOLS)/golangci-lint fmt ./...

.PHONY: lint
lint: spell $(TOOLS)/golangci-lint ## lint the code (minutes at first)
	$(TOOLS)/golangci-lint run ./...

# The linter looks at Go's comments by the same list; "signins" is in a name of the API.
.PHONY: spell
spell: $(TOOLS)/misspell ## look for words that are often misspelt, in pages and in the web UI (at once)
	@git ls-files -z '*.md' '*.ts' '*.tsx' | xargs -0 $(TOOLS)/misspell -error -i signins

# Both use their recommended rules, with every warning an error. Only the installation
# needs the network.
.PHONY: lint-api
lint-api: tools/node_modules/.stamp ## lint docs/openapi.json (needs Node)
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true NO_UPDATE_NOTIFIER=1 \
		tools/node_modules/.bin/redocly lint --extends=recommended-strict docs/openapi.json
	@tools/node_modules/.bin/spectral lint --ruleset tools/spectral.yaml --fail-severity=hint docs/openapi.json

tools/node_modules/.stamp: tools/package-lock.json
	@command -v npm >/dev/null || { echo "the API linters need Node.js 20 or newer with npm (Debian, Ubuntu: apt-get install nodejs npm; macOS: brew install node)" >&2; exit 1; }
	cd tools && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: vuln
vuln: ## look for known vulnerabilities (needs the network)
	cd tools && $(GO) tool govulncheck -C .. ./...

.PHONY: picture
picture: ## redraw the pictures in the README (needs tmux)
	docs/pictures/make.sh

.PHONY: web
web: web/node_modules/.stamp ## rebuild the web UI into web/dist (needs Node)
	cd web && npm run types && npm run typecheck && npm test && npm run build

.PHONY: sdk-typescript
sdk-typescript: web/node_modules/.stamp ## rebuild the TypeScript SDK into sdk/typescript/dist (needs Node)
	sdk/typescript/build.sh

# Set CHROMIUM=path or FIREFOX=path to use another browser than the one in the PATH.
.PHONY: web-test
web-test: build web/node_modules/.stamp agents/node_modules/.stamp ## test the web UI in a real browser (needs Node and Chromium; minutes)
	@scripts/setup.sh browser
	@$(MAKE) --no-print-directory -j2 web-types web-unit
	cd web && $(E2E) npm run e2e

.PHONY: web-firefox
web-firefox: build web/node_modules/.stamp agents/node_modules/.stamp ## test the web UI in a stock Firefox, if there is one (ALL=1: every test; minutes)
	@if scripts/setup.sh firefox; then echo "cd web && npm run e2e:firefox"; cd web && $(E2E) npm run e2e:firefox; \
	elif [ -n "$$CI" ]; then exit 1; \
	else echo "no Firefox: nothing was tested"; fi

.PHONY: web-types web-unit
web-types:
	cd web && npm run typecheck -- --incremental --tsBuildInfoFile node_modules/.cache/typecheck.json
web-unit:
	cd web && npm test

.PHONY: screenshots
screenshots: build web/node_modules/.stamp agents/node_modules/.stamp ## redo docs/screenshots with the real Claude Code (needs Node and Chromium)
	@scripts/setup.sh browser
	cd web && $(E2E) npm run screenshots

.PHONY: web-bench
web-bench: build web/node_modules/.stamp ## measure the web UI with 500 sessions and with 50,000 events (needs Node, Chromium and a quiet machine)
	@scripts/setup.sh browser
	cd web && $(E2E) npm run bench

E2E = TERRET_BIN=$(abspath $(BIN))/terret CHROMIUM="$${CHROMIUM:-$$(command -v chromium)}" FIREFOX="$${FIREFOX:-$$(command -v firefox-esr || command -v firefox)}"

# The web UI's tools are reinstalled when the lock is newer.
web/node_modules/.stamp: web/package-lock.json
	@scripts/setup.sh node
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# The base must hold git; agents are installed on top of it. BASE=scratch needs no network.
BASE ?= docker.io/library/node:22-bookworm
ARCH ?= amd64
.PHONY: image
image: ## make bin/image.tar, a container image, without a daemon (BASE=image to put it on another one)
	GOOS=linux GOARCH=$(ARCH) $(GO) build $(FLAGS) -o $(BIN)/image/terret ./cmd/terret
	cd tools && $(GO) run ./image -program ../$(BIN)/image/terret -base $(BASE) -arch $(ARCH) -o ../$(BIN)/image.tar
	@echo "$(BIN)/image.tar: load it with docker load or podman load"

.PHONY: image-test
image-test: ## make an image, unpack it and run what the Compose file runs; check that file, and the lists of what a release holds
	cd tools && $(GO) test ./image ./notices

.PHONY: install-test
install-test: ## install the archive, the deb, the npm packages and the image, each in an empty place, and have the first conversation there (a minute or two; Linux, needs Node)
	scripts/install-test.sh

# Everything that users install, into dist. Nothing is published. goreleaser is built at the
# first time, from a module of its own.
.PHONY: snapshot
snapshot: $(TOOLS)/goreleaser web/node_modules/.stamp ## make archives, packages, checksums and SBOMs of a release into dist (minutes when warm; half an hour at first, with goreleaser)
	COMMIT=$$(git rev-parse HEAD) COMMIT_DATE=$$(git log -1 --format=%cI) COMMIT_TIME=$$(git log -1 --format=%ct) \
		$(TOOLS)/goreleaser release --snapshot --clean --skip=publish,announce --parallelism=2
	node packaging/npm/build.mjs dist
	@$(MAKE) --no-print-directory site

.PHONY: site
site: ## write the documentation as a static site into dist/site (seconds)
	$(GO) run ./docs/gen site dist/site "$$(git describe --tags --always --dirty)"

.PHONY: gen
gen: ## regenerate all generated files (a minute or two)
	$(GO) generate ./...

# `fresh` fails if generating or tidying changes any file.
.PHONY: fresh
fresh: ## check that generated files and go.mod are up to date (a minute or two)
	@before=$$(git status --porcelain; git diff) ; $(MAKE) --no-print-directory gen && $(GO) mod tidy && \
		after=$$(git status --porcelain; git diff); if [ "$$before" != "$$after" ]; then \
		echo "generated files or go.mod were not up to date:" >&2; git status --short >&2; git --no-pager diff --stat >&2; exit 1; fi

.PHONY: check
check: ## check generated files, formatting, lint, the OpenAPI description, go.mod, builds for other systems and the image (minutes)
	@$(MAKE) --no-print-directory fresh lint lint-api cross image-test

# No file of ours is for one kind of processor, so one of each system will do; ALL=1 builds
# for both kinds, as a release does.
.PHONY: cross
cross: ## build for other systems (Windows builds, but does not run yet; ALL=1: every system, and vet for Windows; minutes)
	@for p in darwin/arm64 windows/amd64 $(if $(ALL),linux/amd64 linux/arm64 darwin/amd64); do \
		echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null ./... || exit 1; done
	$(if $(ALL),GOOS=windows $(GO) vet ./...)

.PHONY: clean
clean: ## remove build output (at once)
	rm -rf $(BIN) dist

$(TOOLS)/goreleaser: tools/goreleaser/go.mod
	@mkdir -p $(TOOLS)
	cd tools/goreleaser && $(GO) build -o $@ github.com/goreleaser/goreleaser/v2

# Tools are pinned in tools/go.mod, apart from the product's dependencies.
$(TOOLS)/golangci-lint: tools/go.mod
	@mkdir -p $(TOOLS)
	cd tools && $(GO) build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/misspell: tools/go.mod
	@mkdir -p $(TOOLS)
	cd tools && $(GO) build -o $@ github.com/golangci/misspell/cmd/misspell
