package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// finding is one line of the doctor: what is so, and what to do about it.
type finding struct {
	Level string `json:"level"` // ok, note, warning, error
	About string `json:"about"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
}

// doctor collects findings. A check never ends the program: what it cannot find
// out is a finding, too.
type doctor struct {
	p        *program
	manager  manager
	status   *rpc.DaemonStatus // of the daemon; nil where none answers
	findings []finding
}

func (d *doctor) ok(about, format string, args ...any) { d.add("ok", about, "", format, args...) }

func (d *doctor) note(about, next, format string, args ...any) {
	d.add("note", about, next, format, args...)
}

func (d *doctor) warn(about, next, format string, args ...any) {
	d.add("warning", about, next, format, args...)
}

func (d *doctor) wrong(about, next, format string, args ...any) {
	d.add("error", about, next, format, args...)
}

func (d *doctor) add(level, about, next, format string, args ...any) {
	d.findings = append(d.findings, finding{level, about, fmt.Sprintf(format, args...), next})
}

func (p *program) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the whole set-up and say what to do",
		Long: `Checks the installation, configuration, folders, daemon, service, system limits and
agents, and changes nothing. A daemon is not started for it. The exit status is 1 where
something is wrong.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{p: p}
			d.examine(cmd.Context())
			if asJSON {
				if err := p.printJSON(struct {
					Version  int       `json:"version"`
					Findings []finding `json:"findings"`
				}{jsonVersion, d.findings}); err != nil {
					return err
				}
			} else if err := d.print(); err != nil {
				return err
			}
			for _, f := range d.findings {
				if f.Level == "error" {
					return exit(statusError)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (d *doctor) examine(ctx context.Context) {
	d.program()
	settings := d.config()
	where, ok := d.folders()
	if ok {
		d.disk(where.State, settings)
		d.daemon(ctx, where, settings)
	}
	d.service(ctx)
	d.limits(settings)
	d.policies(settings)
	d.watches(filepath.Dir(where.Config))
	d.shell(settings)
	d.agents()
}

func (d *doctor) print() error {
	var b strings.Builder
	for i, f := range d.findings {
		fmt.Fprintf(&b, "%-8s %-8s %s\n", f.Level, f.About, f.Text)
		repeated := i+1 < len(d.findings) && d.findings[i+1].Next == f.Next // it comes below the last that it is for
		if f.Next != "" && !repeated {
			fmt.Fprintf(&b, "%-17s → %s\n", "", f.Next)
		}
	}
	return d.p.print("%s", b.String())
}
