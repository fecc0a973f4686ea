package client_test

import (
	"os"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
	"sidetask/scripts/leaks"
)

// TestMain is also the program that Autostart starts: the helper, and the
// daemon that the helper detaches (see autostart_test.go).
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "detach" {
		if err := client.Detach(os.Args[2:]); err != nil {
			client.Report{Error: err.Error(), Status: rpc.ExitUnavailable}.Write(os.NewFile(3, "report"))
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "daemon" {
		fakeDaemon(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	leaks.Main(m)
}
