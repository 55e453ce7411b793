// Package config reads Terret's configuration.
//
// It comes in layers, of which a later one beats an earlier one: [Default], the
// user's config.jsonc, the project's .terret/config.jsonc, and variables named
// TERRET_*. Flags come last; the command line applies them to what [Load]
// returns. Lists of rules are added up instead, so that no layer takes away what
// another one denies.
//
// Files are JSON with comments and trailing commas. A key that does not exist, a
// wrong type, a key that is there twice and whatever else is wrong is an error
// that says in which line and column.
//
// # Projects are not trusted
//
// A project's file comes with the project, from whoever wrote that. Each field of
// [Config] has a tag that says what it can do:
//
//	class:"grants"     it can permit, run, move or spend something, or hide it
//	class:"restricts"  it can only forbid
//	class:"inside"     it holds fields that say it for themselves
//
// As long as the project is not trusted, only what restricts acts: rules.deny.
// All other keys of its file are checked, then ignored, and listed in
// [Loaded.Ignored].
package config

//go:generate go run ./gen ../../docs/config.schema.json
