// Package shellread says whether a shell script is plain: so simple that every
// shell reads it the same way.
//
// Two readers decide it. One is the strict reader in this package, which knows a small
// part of the shell's grammar and gives up on everything else. The other is the full
// parser of mvdan.cc/sh. Each writes what it has read as a [Form]: the words with their
// quotes resolved, the operators, the redirections. A script is plain if the strict
// reader accepts all of it and both forms are equal.
//
// So a mistake in one reader is not enough to hide a command: both must make the same
// one. The strict reader accepts no construct that bash, dash and zsh read differently,
// as far as those shells accept it at all.
//
// # The plain subset
//
//	simple commands        words, assignments before them, export and readonly
//	lists and pipes        ; & && || | |& newline, ! and time before a pipe
//	redirections           < > >> >| <> >& <& &> &>> <<<, with at most one digit
//	words                  text, \x, '…', "…", globs, braces, ~
//	expansions             $name, ${name}, ${name:-text} and its like, $1, $?, $@
//	substitutions          $(…), <(…), >(…), and `…` around plain words
//	groups                 (…) and {…}
//	if, for, while, until  with ; or newline where the grammar has them
//	[[ … ]]                words only: no &&, ||, <, > or parentheses
//
// Comments, lines that are continued, and here-documents are taken only where no
// shell can see anything else in them:
//
//	a comment              outside substitutions, without a backslash
//	a continued line       the backslash stands between two words
//	a here-document        one for each line; its end is a plain name, in quotes,
//	                       or without them if the text expands nothing
//
// Where a substitution ends must not depend on how well a shell looks inside it:
// old shells only count quotes and parentheses. A substitution is plain if that
// way of reading ends it at the same place, or finds no end at all.
//
// Everything else is not plain: functions, case, arithmetic, arrays, $'…', other
// here-documents, and whatever is not listed above.
package shellread
