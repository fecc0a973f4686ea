package systemd

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// statusBytes bounds STATUS=: it is one line of `systemctl status`.
	statusBytes = 256
	// notifyTimeout bounds a notification to a manager that does not read.
	notifyTimeout = 2 * time.Second
)

// Ready tells that the start, or a reload, is complete; status as in
// [Service.Status], "" leaves it.
func (s *Service) Ready(status string) error {
	return s.send(daemon.SdNotifyReady, statusLine(status))
}

// Reloading tells that a reload began; [Service.Ready] ends it. The time goes
// into the same datagram: without it systemd 253 and later wait for ever.
func (s *Service) Reloading() error {
	return s.send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
}

// Status sets the line that `systemctl status` shows.
func (s *Service) Status(text string) error {
	return s.send(statusLine(text))
}

// Stopping tells that the end began.
func (s *Service) Stopping(status string) error {
	return s.send(daemon.SdNotifyStopping, statusLine(status))
}

// extend asks for that much more time for the start or stop that is going on,
// counted from now.
func (s *Service) extend(by time.Duration) error {
	return s.send("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(by.Microseconds(), 10))
}

// alive feeds the watchdog once. See [Service.Watch].
func (s *Service) alive() error {
	return s.send(daemon.SdNotifyWatchdog)
}

// send writes the non-empty assignments as one datagram.
func (s *Service) send(assignments ...string) error {
	if s == nil || s.notify == "" {
		return nil
	}
	var lines []string
	for _, a := range assignments {
		if a != "" {
			lines = append(lines, a)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.notify, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyTimeout)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// statusLine makes one line of text: a line break in it would be another
// assignment, and the manager drops what is not UTF-8.
func statusLine(text string) string {
	if text == "" {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > statusBytes {
		cut := statusBytes - len("…")
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return "STATUS=" + text
}
