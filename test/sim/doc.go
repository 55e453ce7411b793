// Package sim is a model that follows a script. A scenario says how it answers each
// request: text in pieces, thinking, tool calls, errors, refusals, garbage and dropped
// connections. It tests agents without a network and without a key: the native one
// in-process, the others over HTTP on loopback. One scenario drives every agent,
// whatever API it speaks and whatever its tools are called.
//
// A scenario is a YAML file:
//
//	steps:
//	  - match: {user: make a file}         # a part of the user's text, or /a regexp/
//	    answer:
//	      text: I will write it.
//	      tools: # by the agent's name for it, or by what it does
//	        - {do: write, input: {path: "{{dir}}/a.txt", content: hello}}
//	  - match: {tool_result: /created|written/}
//	    answer: {text: Done., delay: 20ms}
//
// testdata/reference.yaml explains every field. In-process:
//
//	s, err := sim.Load("testdata/tools.yaml")
//	p, err := sim.NewPlayer(s, map[string]string{"dir": dir})
//	reply, err := p.Answer(ctx, sim.Request{...})
//	for ev, err := range reply.Events(ctx) { ... }
//
// Over HTTP, where one address serves every dialect:
//
//	srv, err := sim.NewServer(s, sim.Options{Vars: vars, Record: sim.RecordTo(file)})
//	running, err := srv.Start(ctx, "127.0.0.1:0")
//	defer running.Close()
//	// Anthropic Messages:       ANTHROPIC_BASE_URL=running.URL()
//	// OpenAI Chat Completions:  OPENAI_BASE_URL=running.URL() + "/v1"
//	// OpenAI Responses:         base_url = running.URL() + "/v1"
//	// Gemini generateContent:   GOOGLE_GEMINI_BASE_URL=running.URL()
//	...
//	if left := srv.Player().Unmatched(); len(left) > 0 { t.Error(left) }
//
// The layers: [Player] knows steps but not HTTP. [Server] reads, records and writes,
// but knows no API. A [Dialect] translates between the two: it has four methods and no
// state.
//
// What real agents do, and how sim handles it:
//   - They make side calls, mostly without tools (titles, quota checks, suggestions, the
//     choice of a model). Those get a short answer and use up no step, unless a step
//     says side. If the request has a schema for the answer, the answer is JSON that fits:
//     Gemini asks five times over for as long as it is not.
//   - They put context around the user's text. Steps look at all that came after the
//     model's last reply, and do not see what is for the model alone, such as
//     <system-reminder> and <environment_context> blocks.
//   - Goose makes several messages of a reply with several calls, each followed by its
//     result. Steps see all results.
//   - Codex changes files by patches, in a tool of their own that takes text, or in the
//     shell. The verbs write and edit know.
//   - Codex offers some tools in namespaces. Steps call them NAMESPACE/NAME.
//   - They try again after errors. Each attempt is a request and uses up a step;
//     repeat is for that.
//
// All types are safe for concurrent use unless they say otherwise.
package sim
