package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// serverConfig writes the file of MCP servers, which may hold secrets and so must not
// be in the arguments.
func (d *Driver) serverConfig(servers terret.JSON) (string, error) {
	if len(servers) == 0 && len(d.cfg.Servers) == 0 {
		return "", nil
	}
	config := mcpConfig(servers)
	for name := range d.cfg.Servers {
		config[name] = seat.Encode(map[string]string{"type": "sdk", "name": name})
	}
	f, err := os.CreateTemp("", "terret-mcp-*.json") // readable only by us
	if err != nil {
		return "", terret.Errorf(terret.CodeInternal, "cannot write the list of MCP servers: %w", err)
	}
	_, err = f.Write(seat.Encode(map[string]any{"mcpServers": config}))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", terret.Errorf(terret.CodeInternal, "cannot write the list of MCP servers: %w", err)
	}
	return f.Name(), nil
}

// mcpConfig lists servers by name. The list may be wrapped, as in a file.
func mcpConfig(servers terret.JSON) map[string]json.RawMessage {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if decode(servers, &file) && file.Servers != nil {
		return file.Servers
	}
	bare := map[string]json.RawMessage{}
	decode(servers, &bare)
	return bare
}

// serveMCP answers a message to an in-process server.
func (p *process) serveMCP(c mcpCall) []byte {
	server := p.servers[c.server]
	if server == nil {
		return errorLine(c.id, fmt.Sprintf("there is no server %q", c.server))
	}
	response, err := server.Serve(p.Life, c.message)
	if err != nil {
		return errorLine(c.id, p.Redact.String(err.Error()))
	}
	if len(bytes.TrimSpace(response)) == 0 { // a notification needs an answer too
		response = json.RawMessage(`{"jsonrpc":"2.0","result":{}}`)
	}
	return successLine(c.id, map[string]json.RawMessage{"mcp_response": response})
}
