// Package pages gives memory back that only the start of the program needed.
package pages
