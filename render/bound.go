package render

import (
	"strings"
	"unicode/utf8"
)

// Markers that stand where text was cut away.
const (
	outputMarker = "\n[output truncated]"
	resultMarker = "\n[result truncated]"
	noticeMarker = "\n[notice truncated]"
)

// Bound fits an error, a kill text or a text that a policy gave into limit bytes:
// its end is kept, the marker comes last (BEHAVIOUR T143). limit 0 or less is no
// bound.
func Bound(text string, limit int64) string {
	return fit(text, "", limit, resultMarker)
}

// fit bounds content+suffix to limit bytes (BEHAVIOUR T139).
func fit(content, suffix string, limit int64, marker string) string {
	if limit <= 0 || int64(len(content)+len(suffix)) <= limit {
		return content + suffix
	}
	return squeeze(content, suffix, limit, marker)
}

// squeeze is fit for what is known to be too long: the end of content is kept,
// then marker (unless content already ends with it, T142), then suffix.
func squeeze(content, suffix string, limit int64, marker string) string {
	if strings.HasSuffix(content, strings.TrimPrefix(marker, "\n")) {
		marker = ""
	}
	fixed := marker + suffix
	if int64(len(fixed)) >= limit {
		return tail(fixed, limit)
	}
	return tail(content, limit-int64(len(fixed))) + fixed
}

// tail is the longest end of s that has at most n bytes and begins at a code
// point (BEHAVIOUR T130, T131).
func tail(s string, n int64) string {
	if int64(len(s)) <= n {
		return s
	}
	i := len(s) - int(max(0, n))
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// head is the longest beginning of s that has at most n bytes and ends at a code
// point (BEHAVIOUR T129, T131).
func head(s string, n int64) string {
	if int64(len(s)) <= n {
		return s
	}
	i := int(max(0, n))
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i]
}
