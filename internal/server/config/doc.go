// Package config reads Terret's configuration.
//
// It has layers; later ones beat earlier ones: [Default], the user's config.jsonc, the
// project's .terret/config.jsonc, and variables named TERRET_*. Flags come last; the
// command line applies them to the result of [Load]. Lists of rules are combined
// instead, so that no layer can remove what another one denies.
//
// Files are JSON with comments and trailing commas. An unknown key, a wrong type, a
// duplicate key or anything else wrong is an error with line and column.
//
// # Projects are not trusted
//
// A project's file comes from the author of the project. Each field of [Config] has a
// tag that says what it can do:
//
//	class:"grants"     it can permit, run, move or spend something, or hide it
//	class:"restricts"  it can only forbid
//	class:"inside"     it holds fields that say it for themselves
//
// While the project is not trusted, only restrictions take effect: rules.deny. All
// other keys of its file are checked, then ignored, and listed in [Loaded.Ignored].
package config

//go:generate go run ./gen ../../../docs/config.schema.json ../../../docs/CONFIG.md
