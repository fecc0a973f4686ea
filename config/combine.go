package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidetask/scope"
)

// loss is an attached mount that cannot stand, and why.
type loss struct {
	attachment *attachment
	reason     string
}

// combine makes one table of the file's mounts and the attached ones. An
// enabled table of the file wins over an attached mount; one that would have
// its default above its cap with what it inherits now cannot stay either. A
// table of the file inherits from the file alone.
func combine(s *Settings, origins Origins, attached []*attachment) (*snapshot, []loss) {
	snap := &snapshot{settings: s, origins: origins, mounts: maps.Clone(s.Mounts), listed: maps.Clone(origins)}
	layers := make(map[scope.Path]layer, len(s.Mounts))
	for at, m := range s.Mounts {
		layers[at] = m.layer(origins)
	}
	byScope := make(map[scope.Path]*attachment, len(attached))
	var gone []loss
	for _, a := range attached {
		if m, ok := s.Mounts[a.at]; ok && m.Enabled {
			gone = append(gone, loss{a, fmt.Sprintf("the configuration has a mount at %q now (%s)", a.at, m.Origin)})
			continue
		}
		byScope[a.at] = a
	}
	for _, at := range byDepth(byScope) {
		l := above(layers, at).over(byScope[at].said)
		if message, refused := l.exceeds(at); refused {
			gone = append(gone, loss{byScope[at], message})
			continue
		}
		layers[at] = l
		m := l.mount(at, fromConnection, snap.listed)
		m.ID = byScope[at].id
		snap.mounts[at] = m
	}
	for _, at := range slices.Sorted(maps.Keys(snap.mounts)) {
		snap.table.Add(at, snap.mounts[at])
	}
	return snap, gone
}

// layer is a resolved mount of the file as those below it see it.
func (m Mount) layer(origins Origins) layer {
	l := make(layer, len(mountKeys.keys))
	for _, def := range mountKeys.keys {
		e := effective{value: def.get(target{mount: &m}), origin: origins[mountKey(m.Scope, def.name)], scope: m.Scope}
		if from, ok := strings.CutPrefix(e.origin, inheritedFrom); ok {
			e.scope = scope.Path(from)
		} else if e.origin == fromDefault {
			e.scope = ""
		}
		l[def.name] = e
	}
	return l
}
