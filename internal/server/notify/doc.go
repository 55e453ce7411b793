// Package notify tells people elsewhere what waits for them: by ntfy, and by signed webhooks.
//
// A [Book] keeps the channels, which an administrator names, and signs the tokens with which a
// message can answer the request that it is about. A [Queue] keeps on disk what is still to be
// told, so that a restart loses nothing, and sends it.
//
// Channels are reached at addresses of the public internet only, unless the administrator
// marks one as private; redirects are not followed.
package notify
