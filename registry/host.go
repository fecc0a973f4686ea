package registry

// Host is a connection that has registered owners and can give them turns.
// Hosts are compared by identity. The calls must not block: they queue.
type Host interface {
	// Pending rings the bell: count notices of that owner wait. Lane is "wake"
	// or "inject".
	Pending(owner Handle, count int, lane string)
	// Lost says that another host took the owner over.
	Lost(owner Handle)
}
