package process

// scan is where the cleaner is in an escape sequence.
type scan uint8

const (
	text      scan = iota
	escape         // after ESC
	escapeMid      // after ESC and an intermediate byte
	csi            // control sequence: ESC [
	str            // OSC, DCS, APC, PM, SOS: up to BEL or ST
	strEscape      // an ESC in one: of ST, or of something else
)

const (
	// maxSequence is where an escape sequence is no longer believed to be one.
	// Images in terminals are long.
	maxSequence = 1 << 20
	maxParam    = 8
)

// begin begins an escape sequence.
func (c *cleaner) begin() {
	c.state, c.size, c.param = escape, 0, c.param[:0]
}

// sequence takes the next byte of an escape sequence. A byte that can be in none
// ends it and counts as text: what is cut off must not swallow what follows.
func (c *cleaner) sequence(b byte) bool {
	c.size++
	if c.size > maxSequence || b == 0x18 || b == 0x1a { // CAN, SUB
		c.state = text
		return true
	}
	switch c.state {
	case escape, escapeMid:
		return c.afterEscape(b)
	case csi:
		return c.inControl(b)
	case strEscape:
		if b == '\\' {
			c.state = text
			return true
		}
		c.state = escape
		return c.afterEscape(b)
	}
	return c.inString(b)
}

func (c *cleaner) afterEscape(b byte) bool {
	fresh := c.state == escape
	c.state = text
	switch {
	case b == 0x1b:
		c.begin()
	case b < 0x20 || b >= 0x7f:
		return false
	case b < 0x30:
		c.state = escapeMid
	case fresh && b == '[':
		c.state = csi
	case fresh && (b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X'):
		c.state = str
	}
	return true
}

func (c *cleaner) inControl(b byte) bool {
	switch {
	case b == 0x1b:
		c.begin()
	case b < 0x20 || b >= 0x7f:
		c.state = text
		return false
	case b < 0x40:
		if len(c.param) < maxParam {
			c.param = append(c.param, b)
		}
	default:
		c.state = text
		c.act(b)
	}
	return true
}

// act does the two things of a control sequence that progress lines are made
// with: erasing the line, and going back to its beginning.
func (c *cleaner) act(final byte) {
	switch param := string(c.param); {
	case final == 'K' && (param == "2" || param == "1" || c.cr && (param == "" || param == "0")):
		c.line.reset()
	case final == 'G' && (param == "" || param == "0" || param == "1"):
		c.cr = true
	}
}

func (c *cleaner) inString(b byte) bool {
	switch b {
	case 0x07:
		c.state = text
	case 0x1b:
		c.state = strEscape
	case '\n':
		// No such string holds one that we know: it was never ended.
		c.state = text
		return false
	}
	return true
}
