package main

import (
	"context"
	"os"
)

func main() {
	ctx, stop := onSignals(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
