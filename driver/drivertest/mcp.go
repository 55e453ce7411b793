package drivertest

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/terret-dev/terret"
)

// The MCP server has one tool, which says a word back.
const (
	mcpServer = "parrot"
	mcpTool   = "repeat"
)

// mcpConfig is how agents are told of the server.
func mcpConfig() terret.JSON {
	out, err := json.Marshal(object{"mcpServers": object{mcpServer: object{
		"type": "stdio", "command": os.Args[0], "args": []string{mcpArg},
	}}})
	if err != nil {
		panic(err) // it is made of strings
	}
	return out
}

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// serveMCP is a server of one tool, on standard input and output.
func serveMCP(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(r), json.NewEncoder(w)
	for {
		var m rpcMessage
		if err := in.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(m.ID) == 0 {
			continue // a notification
		}
		answer := rpcMessage{JSONRPC: "2.0", ID: m.ID}
		answer.Result, answer.Error = answerMCP(m)
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}

func answerMCP(m rpcMessage) (result, failure any) {
	switch m.Method {
	case "initialize":
		var p struct{ ProtocolVersion string }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, object{"code": -32602, "message": err.Error()}
		}
		return object{
			"protocolVersion": p.ProtocolVersion, "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": mcpServer, "version": "1"},
		}, nil
	case "tools/list":
		return object{"tools": []object{{
			"name": mcpTool, "description": "Says the word back.",
			"inputSchema": object{"type": "object", "properties": object{"word": object{"type": "string"}}, "required": []string{"word"}},
		}}}, nil
	case "tools/call":
		var p struct{ Arguments struct{ Word string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, object{"code": -32602, "message": err.Error()}
		}
		return object{"content": []object{{"type": "text", "text": "the parrot says " + p.Arguments.Word}}}, nil
	case "ping":
		return object{}, nil
	}
	return nil, object{"code": -32601, "message": "there is no method " + m.Method}
}
