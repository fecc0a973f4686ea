// Package render makes every text and card that a model or a person sees of a
// task tool: status lines, outputs, lists, acknowledgements, notices, errors,
// their byte bounds, ACP cards, tool schemas, the guidance, and the frame of a
// wake prompt.
//
// All of it is pure: the same arguments give the same bytes, always. It knows
// no registry, process, socket or setting, and imports nothing of this module.
package render
