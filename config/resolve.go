package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sidetask/scope"
)

// resolve makes settings of a document: what it does not say is inherited or
// the default. Rules between keys are checked here.
func (d *document) resolve() (*Settings, Origins) {
	s, origins := &Settings{Mounts: make(map[scope.Path]Mount)}, make(Origins)
	for _, section := range sections {
		switch {
		case section.placed:
			d.resolveMounts(s, origins)
		case section.array:
			d.resolvePolicies(section, s, origins)
		default:
			for _, def := range section.keys {
				def.put(target{settings: s}, d.pick(d.single[section.name], def, section.name+"."+def.name, origins))
			}
		}
	}
	d.checkHead(s)
	return s, origins
}

// pick is what a table says for a key, else the default.
func (d *document) pick(t table, def definition, key string, origins Origins) any {
	w, ok := t.values[def.name]
	if !ok || w.bad {
		origins[key] = fromDefault
		if def.fallback == nil {
			return []string(nil) // missing, which has been told
		}
		return def.fallback
	}
	origins[key] = d.origin(w.at)
	return w.value
}

// The origins that are no place in the file.
const (
	fromDefault    = "default"
	fromConnection = "connection"
	inheritedFrom  = "inherited from "
)

func (d *document) resolvePolicies(section section, s *Settings, origins Origins) {
	for i, t := range d.policies {
		var p Policy
		for _, def := range section.keys {
			def.put(target{policy: &p}, d.pick(t, def, policyKey(i, def.name), origins))
		}
		s.Policies = append(s.Policies, p)
	}
}

// checkHead refuses a kept head that is not smaller than the spool, also when
// only one of the two is written.
func (d *document) checkHead(s *Settings) {
	head, spool := d.single[commandKeys.name].values[headKey], d.single[commandKeys.name].values[spoolKey]
	if head.bad || spool.bad || s.Commands.KeepHeadBytes < s.Commands.SpoolBytes {
		return
	}
	d.fail(cmp.Or(head.at, spool.at), "%s (%d) must be less than %s (%d)", headKey, s.Commands.KeepHeadBytes, spoolKey, s.Commands.SpoolBytes)
}

// effective is one setting of a mount and which table said it: "" = none did.
type effective struct {
	value  any
	origin string // of the one who said it
	scope  scope.Path
	bad    bool
}

// layer is a table of settings at a scope, whose gaps the one above fills.
type layer map[string]effective

// builtIn is the layer that says nothing: the defaults.
func builtIn() layer {
	l := make(layer, len(mountKeys.keys))
	for _, def := range mountKeys.keys {
		l[def.name] = effective{value: def.fallback, origin: fromDefault}
	}
	return l
}

// over lays what a table at a scope says over the layer above it.
func (l layer) over(said map[string]effective) layer {
	merged := make(layer, len(l))
	for _, def := range mountKeys.keys {
		e := l[def.name]
		if def.own {
			e = effective{value: def.fallback, origin: fromDefault}
		}
		if own, ok := said[def.name]; ok {
			e = own
		}
		merged[def.name] = e
	}
	return merged
}

// mount makes the mount of a layer at a scope and notes the origins.
func (l layer) mount(at scope.Path, origin string, origins Origins) Mount {
	m := Mount{Scope: at, Origin: origin}
	for _, def := range mountKeys.keys {
		e := l[def.name]
		value, from := e.value, e.origin
		switch {
		case e.bad:
			value = def.fallback
		case e.scope != "" && e.scope != at:
			from = inheritedFrom + string(e.scope)
		}
		def.put(target{mount: &m}, value)
		origins[mountKey(at, def.name)] = from
	}
	return m
}

// exceeds is the rule that a default does not exceed its cap; told only where
// one of the two is said, for a table that inherits both inherits the error.
func (l layer) exceeds(at scope.Path) (message string, refused bool) {
	wait, most := l[waitKey], l[capKey]
	if wait.bad || most.bad || wait.scope != at && most.scope != at {
		return "", false
	}
	if wait.value.(int64) <= most.value.(int64) {
		return "", false
	}
	return fmt.Sprintf("%s (%d) exceeds %s (%d) in mount %q", waitKey, wait.value, capKey, most.value, at), true
}

// resolveMounts fills the gaps of each table from the nearest one above,
// whether that one is enabled or not.
func (d *document) resolveMounts(s *Settings, origins Origins) {
	layers := make(map[scope.Path]layer)
	for _, at := range byDepth(d.mounts) {
		t := d.mounts[at]
		said := make(map[string]effective, len(t.values))
		for name, w := range t.values {
			said[name] = effective{value: w.value, origin: d.origin(w.at), scope: at, bad: w.bad}
		}
		l := above(layers, at).over(said)
		layers[at] = l
		if message, refused := l.exceeds(at); refused {
			w, ok := t.values[waitKey]
			if !ok {
				w = t.values[capKey]
			}
			d.fail(w.at, "%s", message)
		}
		s.Mounts[at] = l.mount(at, d.origin(t.at), origins)
	}
	if _, ok := s.Mounts[scope.Root]; !ok {
		s.Mounts[scope.Root] = builtIn().mount(scope.Root, fromDefault, origins)
	}
}

// above is the layer of the nearest table above a scope.
func above(layers map[scope.Path]layer, at scope.Path) layer {
	for _, p := range at.Chain()[1:] {
		if l, ok := layers[p]; ok {
			return l
		}
	}
	return builtIn()
}

// byDepth lists scopes so that each comes after those above it.
func byDepth[T any](tables map[scope.Path]T) []scope.Path {
	return slices.SortedFunc(maps.Keys(tables), func(a, b scope.Path) int {
		return cmp.Or(cmp.Compare(len(a.Chain()), len(b.Chain())), cmp.Compare(a, b))
	})
}
