package claude

import "github.com/terret-dev/terret"

// ByHand is the command that sends a message to Claude Code without Terret in between, in
// the session's folder and its conversation. The path of the file with the system prompt
// is relative to that folder.
func (*Driver) ByHand(s terret.Session, message, promptFile string) []string {
	argv := []string{"claude", "-p", message, "--output-format=stream-json", "--verbose", "--append-system-prompt-file=" + promptFile}
	if s.NativeID != "" {
		argv = append(argv, "--resume="+string(s.NativeID))
	}
	return argv
}
