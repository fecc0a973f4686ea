package main

import "strings"

// quoteAll makes of an argument vector the shell text that runs exactly it.
func quoteAll(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	return strings.Join(quoted, " ")
}

// plain are the characters that no shell gives a meaning anywhere in a word
// (~ and = have one at some places, so a word with them is quoted).
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:,+@%^"

// quote makes arg one word of a shell.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
