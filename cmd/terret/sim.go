package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/test/sim"
)

type simOptions struct {
	listen, scenario, record string
	vars                     []string
}

func newSim(a *app) *cobra.Command {
	var o simOptions
	cmd := &cobra.Command{
		Use: "sim [flags] SCENARIO", Short: "Serve a scripted model on this machine", Args: exactArgs("SCENARIO"),
		Long: "Serve a scripted model on this machine, in the APIs of Anthropic, OpenAI and\n" +
			"Gemini. It prints its address; point an agent at it, for instance with\nANTHROPIC_BASE_URL=ADDRESS or OPENAI_BASE_URL=ADDRESS/v1.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.scenario = args[0]
			return runSim(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback address to listen on")
	cmd.Flags().StringVar(&o.record, "record", "", "file to append requests to, as JSON, one per line")
	cmd.Flags().StringArrayVar(&o.vars, "var", nil, "NAME=VALUE for {{NAME}} in the scenario (repeatable)")
	return cmd
}

func runSim(ctx context.Context, a *app, o simOptions) error {
	scenario, err := sim.Load(o.scenario)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	opts := sim.Options{Vars: map[string]string{}}
	for _, v := range o.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return terret.Invalid("var", "%q is not NAME=VALUE", v)
		}
		opts.Vars[name] = value
	}
	if o.record != "" {
		f, err := os.OpenFile(o.record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return terret.Invalid("record", "%w", err)
		}
		defer f.Close()
		opts.Record = sim.RecordTo(f)
	}
	srv, err := sim.NewServer(scenario, opts)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer interrupts(cancel, cancel)()
	running, err := srv.Start(ctx, o.listen)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	fmt.Fprintf(a.out, "listening on %s\n", running.URL())
	<-running.Done()
	for _, u := range srv.Player().Unmatched() {
		a.note("no step matched: %s", oneLine(u))
	}
	return running.Close()
}
