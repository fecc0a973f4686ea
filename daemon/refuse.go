package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"sidetask/config"
	"sidetask/rpc"
	"sidetask/systemd"
)

// Bounds of a refusal: how long a client that has connected may take to ask,
// and how many are told.
const (
	refuseTime = time.Second
	refuseMost = 64
)

// refuse answers the clients for whose sake the service manager started this
// daemon, when it cannot start: they hear why. It also takes them off the socket, for
// otherwise the manager would start it for them again and again, until it gives
// up on the socket, too, and that outlives the correction of the file.
func refuse(service *systemd.Service, cause error) {
	for _, listener := range service.Listeners(systemd.ListenerName) {
		unix, ok := listener.(*net.UnixListener)
		if !ok {
			continue
		}
		for range refuseMost {
			// Only those that are there already: a deadline that has passed would
			// not even look for them.
			if unix.SetDeadline(time.Now().Add(10*time.Millisecond)) != nil {
				break
			}
			conn, err := unix.Accept()
			if err != nil {
				break
			}
			tell(conn, cause)
		}
	}
}

// tell answers the first request of a connection with an error, and closes it.
func tell(conn net.Conn, cause error) {
	defer func() { _ = conn.Close() }() // nothing more is owed to it
	if conn.SetDeadline(time.Now().Add(refuseTime)) != nil {
		return
	}
	var request struct {
		ID rpc.RawID `json:"id"`
	}
	if json.NewDecoder(conn).Decode(&request) != nil || len(request.ID) == 0 {
		return
	}
	code := rpc.CodeInternal
	if bad := (config.Errors{}); errors.As(cause, &bad) {
		code = rpc.CodeConfiguration
	}
	text := fmt.Sprintf("the daemon does not start: %v", cause)
	if busy := (&BusyError{}); errors.As(cause, &busy) {
		text += "; " + busy.Hint()
	}
	_ = json.NewEncoder(conn).Encode(map[string]any{ // it may be gone
		"jsonrpc": "2.0", "id": request.ID, "error": rpc.Errorf(code, "%s", text),
	})
}
