package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret"
)

// Describe returns the OpenAPI description of all routes, as every server serves it.
func Describe() ([]byte, error) {
	s := &Server{limits: Limits{}.withDefaults(), mux: http.NewServeMux()}
	s.routes()
	api := newAPI(&endpoint{})
	for _, op := range s.operations {
		op.register(api)
	}
	o := api.OpenAPI()
	describeErrors(o)
	tidy(o)
	return indented(o)
}

// newAPI makes an API without routes.
func newAPI(a huma.Adapter) huma.API {
	return huma.NewAPI(huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Terret", Version: "1",
				Description: "One harness for every coding agent. docs/ARCHITECTURE.md explains the records and events. What is below /uhp is the Unified Harness Protocol, which has a schema of its own.",
				Contact:     &huma.Contact{Name: "Terret", URL: "https://github.com/terret-dev/terret/issues"},
				License:     &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{
				URL: "http://{address}", Description: "The address that `terret serve` listens on.",
				Variables: map[string]*huma.ServerVariable{"address": {Default: "127.0.0.1:7433", Description: "Change it with `terret serve --addr`."}},
			}},
			Tags: tags(),
			Components: &huma.Components{
				Schemas:         newRegistry(),
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "`terret token` creates and lists tokens."}},
			},
		},
		Formats:                      formats(),
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transformProblem},
	}, a)
}

// The groups of routes.
const (
	tagAccess    = "access"
	tagAgents    = "agents"
	tagControl   = "control"
	tagDecisions = "decisions"
	tagEvents    = "events"
	tagFiles     = "files"
	tagFleet     = "fleet"
	tagPersonas  = "personas"
	tagRules     = "rules"
	tagSessions  = "sessions"
	tagSetup     = "setup"
	tagTeam      = "team"
	tagTerminals = "terminals"
	tagWork      = "work"
	tagTurns     = "turns"
	tagUsage     = "usage"
)

func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagSessions, Description: "A session is one conversation with one agent in one folder. Its log is never rewritten."},
		{Name: tagTurns, Description: "A turn is one prompt and everything the agent does about it. While one is running, further prompts can wait in the queue."},
		{Name: tagEvents, Description: "Everything that happens is an event in the log. Read it from any point and follow it live."},
		{Name: tagDecisions, Description: "What agents ask for: permissions, answers, approval of plans."},
		{Name: tagControl, Description: "Stop, undo, fork or compact a session, and run the agent's own commands."},
		{Name: tagRules, Description: "Rules decide without asking a person."},
		{Name: tagAgents, Description: "The agents on this machine and their models."},
		{Name: tagSetup, Description: "What must be there before agents can work: keys, servers with models, sign-ins, the configuration, and the agents' programs. Only for this machine, and only for admins: whoever may do this can have it run programs."},
		{Name: tagFiles, Description: "The folders that sessions may work in, and what has changed there. Read-only."},
		{Name: tagTerminals, Description: "Shells beside the conversation, in the folders of sessions."},
		{Name: tagPersonas, Description: "The roles that a project defines, and whether its folder is trusted."},
		{Name: tagTeam, Description: "Named agents that write to each other and to people. What they do is in their sessions; what they say to each other is in the team's own log."},
		{Name: tagFleet, Description: "The machines that share a PostgreSQL database."},
		{Name: tagWork, Description: "Work that passes through several agents: workflows, reviews and races. Each has a log of its own, in a session without an agent."},
		{Name: tagUsage, Description: "Turns, tokens and cost."},
		{Name: tagAccess, Description: "Tokens, and who may do what with them."},
	}
}

// anyRoute lists the errors that any route can return.
var anyRoute = []terret.ErrorCode{
	terret.CodeUnauthorized, terret.CodeForbidden, terret.CodeInvalidRequest, terret.CodeRateLimited, terret.CodeInternal,
}

// fromAgent lists the errors of routes that talk to an agent, which they start if need
// be.
var fromAgent = []terret.ErrorCode{
	terret.CodeConflict, terret.CodeUnsupported, terret.CodeSessionClosed, terret.CodeAgentNotFound, terret.CodeNotAuthenticated,
	terret.CodeConnectionFailed, terret.CodeProcessFailed, terret.CodeMalformedOutput, terret.CodeExecutionError, terret.CodeModelError,
	terret.CodeOverloaded, terret.CodeBilling, terret.CodeModelNotFound, terret.CodeMaxTurns, terret.CodeMaxBudget, terret.CodeMaxStructured, terret.CodeResumeFailed,
	terret.CodeInterrupted, terret.CodeKilled, terret.CodeTimeout, terret.CodeStartupRefused, terret.CodeNotFound, terret.CodeSessionBusy,
}

// stored lists the errors of a route that uses the store or changes tokens, plus its
// own: the file may be damaged, or locked by another program.
func stored(more ...terret.ErrorCode) []terret.ErrorCode {
	return append([]terret.ErrorCode{terret.CodeStartupRefused, terret.CodeConflict}, more...)
}

// inSession lists the errors of a route about one session, plus its own.
func inSession(more ...terret.ErrorCode) []terret.ErrorCode {
	return append(stored(terret.CodeSessionNotFound), more...)
}

// errors lists everything that the route can fail with, sorted.
func (r route) errors() []terret.ErrorCode {
	all := slices.Concat(anyRoute, r.fails)
	slices.Sort(all)
	return slices.Compact(all)
}

// statusOf is the HTTP status of an error. Codes that end turns have none of their own;
// if one ends a request, the agent is to blame.
func statusOf(code terret.ErrorCode) int {
	if status := code.Class().HTTP; status != 0 {
		return status
	}
	return http.StatusBadGateway
}

const responseRef = "#/components/responses/"

// failure describes an error status.
type failure struct {
	name, text string
	header     map[string]*huma.Param
}

// failures lists all error statuses, with their names in the description.
func failures() map[int]failure {
	header := func(name, doc string) map[string]*huma.Param {
		return map[string]*huma.Param{name: {Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return map[int]failure{
		http.StatusBadRequest:            {"BadRequest", "The body is missing, or is not JSON.", nil},
		http.StatusUnauthorized:          {"Unauthorized", "The token is missing, wrong, expired or revoked.", header("WWW-Authenticate", "The scheme to use: Bearer.")},
		http.StatusPaymentRequired:       {"PaymentRequired", "The agent's account has no credit.", nil},
		http.StatusForbidden:             {"Forbidden", "The token does not allow this, or the host, origin or folder is not allowed.", nil},
		http.StatusNotFound:              {"NotFound", "What the request names does not exist.", nil},
		http.StatusRequestTimeout:        {"RequestTimeout", "The body took too long to arrive.", nil},
		http.StatusConflict:              {"Conflict", "The session is busy, the request is already decided, or something else has changed.", nil},
		http.StatusGone:                  {"Gone", "The agent has been closed.", nil},
		http.StatusRequestEntityTooLarge: {"TooLarge", "The body, or something in it, is too large.", nil},
		http.StatusUnsupportedMediaType:  {"UnsupportedMediaType", "This route does not accept the body's media type.", nil},
		http.StatusUnprocessableEntity:   {"Invalid", "The input is invalid; `field` names the field or parameter.", nil},
		http.StatusFailedDependency:      {"NotSignedIn", "The agent is not signed in.", nil},
		http.StatusTooManyRequests:       {"TooMany", "Too many wrong tokens, sessions, turns or streams, or the model's own limit.", header("Retry-After", "Seconds to wait, if known.")},
		http.StatusInternalServerError:   {"Internal", "Terret failed; its log says more.", nil},
		http.StatusNotImplemented:        {"Unsupported", "The agent, or this server, cannot do that.", nil},
		http.StatusBadGateway:            {"AgentFailed", "The agent or its model failed.", nil},
		http.StatusServiceUnavailable:    {"Unavailable", "The server is stopping, or the agent is not installed or overloaded.", nil},
	}
}

// describeErrors adds to every operation the error statuses it can return. x-errors
// names the codes.
func describeErrors(o *huma.OpenAPI) {
	schema := o.Components.Schemas.Schema(typeOf[Problem](), true, "Problem")
	content := map[string]*huma.MediaType{problemType: {Schema: schema}}
	o.Components.Responses = map[string]*huma.Response{"Problem": {Description: "Any other error.", Content: content}}
	known := failures()
	for _, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, status := range statusesOf(op) {
				f := known[status]
				op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: responseRef + f.name}
				o.Components.Responses[f.name] = &huma.Response{Description: f.text, Content: content, Headers: f.header}
			}
		}
	}
}

// statusesOf lists the error statuses that an operation can return.
func statusesOf(op *huma.Operation) []int {
	var all []int
	codes, _ := op.Extensions["x-errors"].([]terret.ErrorCode)
	for _, code := range codes {
		all = append(all, statusOf(code))
	}
	// An invalid body is invalid_request, whatever the status.
	if op.Method != http.MethodGet {
		all = append(all, http.StatusRequestEntityTooLarge)
	}
	if op.Method != http.MethodGet && (op.RequestBody == nil || op.RequestBody.Content["application/json"] != nil) {
		all = append(all, http.StatusUnsupportedMediaType)
	}
	if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
		all = append(all, http.StatusBadRequest, http.StatusRequestTimeout)
	}
	return all
}
