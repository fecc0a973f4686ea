package config

import (
	"fmt"
	"maps"
	"slices"

	"sidetask/scope"
)

// Origins says where each setting comes from, by the key that [Setting] has:
// "default", "file:line", "inherited from /x" or "connection".
type Origins map[string]string

// Setting is one resolved setting.
type Setting struct {
	Key    string // limits.maxConnections, mounts."/review".waitTimeoutMs, policy[0].run
	Value  any    // int64, bool, string or []string
	Origin string
}

// List is every resolved setting with its origin, in the order of the
// documentation; mounts by scope.
func List(s *Settings, o Origins) []Setting {
	var all []Setting
	add := func(key string, value any) {
		origin, ok := o[key]
		if !ok {
			origin = fromDefault
		}
		all = append(all, Setting{Key: key, Value: value, Origin: origin})
	}
	for _, section := range sections {
		switch {
		case section.placed:
			for _, at := range slices.Sorted(maps.Keys(s.Mounts)) {
				m := s.Mounts[at]
				for _, def := range section.keys {
					add(mountKey(at, def.name), def.get(target{mount: &m}))
				}
			}
		case section.array:
			for i := range s.Policies {
				for _, def := range section.keys {
					add(policyKey(i, def.name), def.get(target{policy: &s.Policies[i]}))
				}
			}
		default:
			for _, def := range section.keys {
				add(section.name+"."+def.name, def.get(target{settings: s}))
			}
		}
	}
	return all
}

func mountKey(at scope.Path, name string) string {
	return fmt.Sprintf("%s.%q.%s", mountKeys.name, string(at), name)
}

func policyKey(i int, name string) string {
	return fmt.Sprintf("%s[%d].%s", policyKeys.name, i, name)
}
