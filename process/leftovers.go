package process

// Leftovers is how many ended tasks have left processes running.
func (p *Producer) Leftovers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, k := range p.kept {
		if k.ended && k.leftovers > 0 {
			n++
		}
	}
	return n
}
