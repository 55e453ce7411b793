package team

import "github.com/terret-dev/terret"

// ProviderError says that a provider's agent failed. It is the root of the tree: an
// [errors.As] for it finds the other two as well. It wraps the agent's own error.
type ProviderError struct {
	Provider string
	Err      error
}

// Error implements error.
func (e *ProviderError) Error() string { return e.Provider + ": " + e.Err.Error() }

// Unwrap returns the agent's own error.
func (e *ProviderError) Unwrap() error { return e.Err }

// ProviderAuthError says that the agent is not installed, or nobody is signed in.
type ProviderAuthError struct{ ProviderError }

// Unwrap returns the ProviderError.
func (e *ProviderAuthError) Unwrap() error { return &e.ProviderError }

// ProviderAPIError says that the agent's program failed. StatusCode is its exit code, or
// -1 if it had none.
type ProviderAPIError struct {
	ProviderError
	StatusCode int
}

// Unwrap returns the ProviderError.
func (e *ProviderAPIError) Unwrap() error { return &e.ProviderError }

// providerError puts an error of an agent into the tree.
func providerError(provider string, err error) error {
	base := ProviderError{Provider: provider, Err: err}
	own := terret.AsError(err)
	switch own.Code {
	case terret.CodeAgentNotFound, terret.CodeNotAuthenticated:
		return &ProviderAuthError{base}
	case terret.CodeProcessFailed:
		status := -1
		if own.ExitCode != nil {
			status = *own.ExitCode
		}
		return &ProviderAPIError{base, status}
	default:
		return &base
	}
}
