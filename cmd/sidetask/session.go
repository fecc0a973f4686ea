package main

import (
	"context"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"sidetask/rpc"
)

const (
	// wholeSession is the longest id of a session that a terminal always shows whole.
	wholeSession = 10
	// cutSession is what it shows of a longer one, and the least that stands for it.
	cutSession = 8
	// agentCells is what a terminal shows of an agent's name at most.
	agentCells = 16
)

// abbreviate leaves of a session's id, most often a UUID, what tells it from
// others: a terminal's width is for labels. [namedOwner] takes it back.
func abbreviate(session string) string {
	if runes := []rune(session); len(runes) > wholeSession {
		return string(runes[:cutSession]) + "…"
	}
	return session
}

// shortAgent is an agent's name for a terminal; [namedOwner] takes it, too.
func shortAgent(agent string) string {
	return displaywidth.TruncateString(unscoped(agent), agentCells, "…")
}

// namedOwner is the session, and the agent if one was given, that a person means. A
// session's id may be cut as a terminal shows it, or longer, and an agent may be
// without the scope of its package, as long as one only is meant. What nobody has is
// refused, in the same words for every command; nothing given is anybody.
func namedOwner(ctx context.Context, call caller, as rpc.As) (rpc.As, error) {
	if as == (rpc.As{}) {
		return as, nil
	}
	var result rpc.OwnerListResult
	if err := call(ctx, rpc.MethodOwnerList, rpc.Empty{}, &result); err != nil {
		return as, err
	}
	found := result.Owners
	if as.Agent != "" {
		found = meant(found, func(o rpc.OwnerInfo) bool { return o.Agent == as.Agent },
			func(o rpc.OwnerInfo) bool { return unscoped(o.Agent) == as.Agent || shortAgent(o.Agent) == as.Agent })
	}
	if as.Session != "" {
		found = meant(found, func(o rpc.OwnerInfo) bool { return o.Session == as.Session },
			func(o rpc.OwnerInfo) bool { return standsFor(as.Session, o.Session) })
	}
	if len(found) == 0 {
		return as, unknownOwner(as)
	}
	return oneOf(as, found)
}

// meant is the owners that are named exactly, or else those that are named roughly.
func meant(owners []rpc.OwnerInfo, exactly, roughly func(rpc.OwnerInfo) bool) []rpc.OwnerInfo {
	for _, is := range []func(rpc.OwnerInfo) bool{exactly, roughly} {
		var found []rpc.OwnerInfo
		for _, o := range owners {
			if is(o) {
				found = append(found, o)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// standsFor reports whether cut is what a terminal shows of the session, or more of
// it. The id of a session that is gone must not soon mean another one.
func standsFor(cut, session string) bool {
	cut = strings.TrimSuffix(cut, "…")
	return len([]rune(session)) > wholeSession && len([]rune(cut)) >= cutSession && strings.HasPrefix(session, cut)
}

// oneOf writes the names that were given out, where the owners found have one each.
// The same session of several agents stays theirs: some commands take them all, and
// of the others the daemon says that it wants the agent's name.
func oneOf(as rpc.As, found []rpc.OwnerInfo) (rpc.As, error) {
	var sessions, agents []string
	for _, o := range found {
		sessions, agents = append(sessions, o.Session), append(agents, o.Agent)
	}
	slices.Sort(sessions)
	slices.Sort(agents)
	sessions, agents = slices.Compact(sessions), slices.Compact(agents)
	if as.Session != "" {
		if len(sessions) > 1 {
			return as, fail("give more of its id", "%q may be the session %s", as.Session, strings.Join(sessions, " or "))
		}
		as.Session = sessions[0]
	}
	if as.Agent != "" {
		if len(agents) > 1 {
			return as, fail("give its whole name", "%q may be the agent %s", as.Agent, strings.Join(agents, " or "))
		}
		as.Agent = agents[0]
	}
	return as, nil
}

// unknownOwner is the error of a session, or an agent, that nobody has.
func unknownOwner(as rpc.As) error {
	const next = "`sidetask owners` lists the sessions"
	switch {
	case as.Session == "":
		return fail(next, "no agent %s has a session", as.Agent)
	case as.Agent != "":
		return fail(next, "no agent %s has the session %q", as.Agent, as.Session)
	}
	return fail(next, "no agent has the session %q", as.Session)
}

// unscoped is an agent's name, where it is that of a package, without the package's scope.
func unscoped(agent string) string {
	if _, name, found := strings.Cut(agent, "/"); found && strings.HasPrefix(agent, "@") {
		return name
	}
	return agent
}
