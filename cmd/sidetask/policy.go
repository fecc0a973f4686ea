package main

import (
	"fmt"
	"os/exec"

	"sidetask/config"
)

// deadPolicies says which policies have a program that cannot be run: the file is
// valid, for the program may come later or be on a disk that is not there yet, but
// each call that such a policy is asked about is denied.
func deadPolicies(settings *config.Settings) (texts []string) {
	for _, p := range settings.Policies {
		if _, err := exec.LookPath(p.Run[0]); err != nil {
			texts = append(texts, fmt.Sprintf("the policy %s cannot be run (%v): it denies what it is asked about", p.Run[0], bare(err)))
		}
	}
	return texts
}
