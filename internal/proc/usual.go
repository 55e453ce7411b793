package proc

// usual are the variables that programs and tool chains need to work as they do in a
// person's own shell, in upper case. A name belongs here if it says how or where a
// program works. It does not if it is a project's own, or chooses an account: those are
// for a person to add (agents.NAME.env of the configuration).
var usual = []string{
	// The system, the terminal, and the person's taste.
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "SHLVL", "PWD", "OLDPWD", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "TZ", "TZDIR",
	"LANG", "LANGUAGE", "LC_*", "LOCALE_ARCHIVE*", "XDG_*", "TERM", "TERM_PROGRAM*", "TERMINFO*", "COLORTERM", "COLUMNS", "LINES",
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR*", "LS_COLORS", "EDITOR", "VISUAL", "PAGER", "LESS*", "MANPATH", "MANPAGER", "INFOPATH",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "BROWSER", "CI", "DEBUG", "DEBIAN_FRONTEND",
	"LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_*", "NIX_*", "IN_NIX_SHELL", "HOMEBREW_*", "WSL*", "FONTCONFIG_*",
	// Windows.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*", "PROGRAMW6432",
	"COMMONPROGRAM*", "ALLUSERSPROFILE", "USERPROFILE", "USERNAME", "USERDOMAIN*", "HOMEDRIVE", "HOMEPATH", "PUBLIC", "COMPUTERNAME", "OS",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_*", "PSMODULEPATH", "MSYS*", "MINGW*", "CHERE_INVOKING",
	// The network. A proxy may have a password: without it nothing works.
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "CURL_HOME",
	"REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "WGETRC", "RES_OPTIONS",
	// Git and its keys. Agents of ssh and gpg sign without showing a key.
	"GIT_*", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS*", "GPG_TTY", "GPG_AGENT_INFO", "GNUPGHOME", "HGRCPATH", "SVN_SSH",
	// Compilers and builds.
	"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "FC", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS", "LIBS",
	"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "PKG_CONFIG*", "ACLOCAL_PATH", "ARCH", "CROSS_COMPILE", "SOURCE_DATE_EPOCH",
	"MAKE", "MAKEFLAGS", "MAKELEVEL", "MAKEFILES", "MFLAGS", "CMAKE_*", "CTEST_*", "NINJA_*", "MESON_*", "CCACHE_*", "SCCACHE_DIR", "DISTCC_*", "BAZEL*",
	"VCPKG_*", "CONAN_*", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
	"CUDA_*", "OMP_*", "LLVM_*", "OTEL_*",
	// Version managers for many languages.
	"ASDF_*", "MISE_*", "RTX_*", "PROTO_HOME", "SDKMAN_*",
	// Go. Not GO*, which is Google's too.
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOCACHEPROG", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE",
	"GOVCS", "GOAUTH", "GOOS", "GOARCH", "GOARM*", "GOAMD64", "GO386", "GOWASM", "GO111MODULE", "GOTOOLCHAIN", "GOWORK", "GOENV", "GOTMPDIR",
	"GOEXPERIMENT", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GOFIPS140", "GOCOVERDIR", "GOLANGCI_LINT_*", "CGO_*", "GCCGO*",
	// JavaScript.
	"NODE", "NODE_*", "NVM_*", "NPM_CONFIG_*", "NPM_EXECPATH", "NPM_NODE_EXECPATH", "PNPM_*", "YARN_*", "BUN_*", "DENO_*", "COREPACK_*", "VOLTA_*", "FNM_*",
	"N_PREFIX", "NODENV_*", "ELECTRON_*", "PLAYWRIGHT_*", "PUPPETEER_*", "CHROME_BIN", "CHROME_PATH", "ESBUILD_*", "JEST_*", "VITEST*", "TURBO_*",
	// Python.
	"PYTHON*", "VIRTUAL_ENV*", "CONDA_*", "_CONDA_*", "MAMBA_*", "PYENV_*", "PIP_*", "PIPX_*", "PIPENV_*", "POETRY_*", "UV_*", "RYE_*", "PDM_*", "HATCH_*",
	"TOX_*", "PYTEST_*", "COVERAGE_*", "MYPY*", "RUFF_*", "JUPYTER_*", "IPYTHONDIR", "MPLBACKEND", "MPLCONFIGDIR",
	// Rust.
	"CARGO", "CARGO_*", "RUST*",
	// The JVM. Not ORG_GRADLE_PROJECT_*, where keys are.
	"JAVA_*", "_JAVA_OPTIONS", "JDK_*", "JRE_HOME", "CLASSPATH", "M2", "M2_HOME", "MAVEN_*", "MVN*", "GRADLE_*", "ANT_*", "KOTLIN_*", "SBT_*", "SCALA_*",
	"COURSIER_*", "JENV_*", "ANDROID_*", "LEIN_*",
	// Ruby. Not all of BUNDLE_*, which holds a password for each host.
	"GEM_*", "RUBY*", "RBENV_*", "RVM_*", "BUNDLE_PATH", "BUNDLE_GEMFILE", "BUNDLE_BIN*", "BUNDLE_WITH*", "BUNDLE_JOBS", "BUNDLE_APP_CONFIG",
	"BUNDLE_USER_*", "BUNDLE_DEPLOYMENT", "BUNDLE_FROZEN",
	// Others.
	"DOTNET_*", "NUGET_*", "MSBUILD*", "COMPOSER_*", "PHP_*", "PHPRC", "PHPENV_*", "PERL*", "R_*", "LUA_*", "JULIA_*", "ERL_*", "ELIXIR_*", "MIX_*", "HEX_*",
	"REBAR_*", "GHCUP_*", "CABAL_*", "STACK_*", "OPAM*", "OCAML*", "CAML_LD_LIBRARY_PATH", "DART_*", "FLUTTER_*", "PUB_*", "SWIFT*", "ZIG_*",
	// Containers on this machine. Not KUBECONFIG and the clouds: they choose an account.
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_BUILDKIT", "DOCKER_DEFAULT_PLATFORM", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
	"DOCKER_API_VERSION", "COMPOSE_*", "BUILDKIT_*", "BUILDX_*", "CONTAINER_HOST", "TESTCONTAINERS_*",
}
