// Package push tells people what waits for them when no page of ours is open, by Web Push
// (RFC 8030): the server sends a message, encrypted for one browser (RFC 8291) and signed
// with a key of its own (RFC 8292), to the push service of that browser's maker, which
// wakes the browser up.
//
// A [Book] keeps the key and the subscriptions. A [Queue] gathers what happens, and sends
// it: a person who is asked ten things in a second gets one message. Nobody ever waits for
// the queue.
//
// Browsers name the address that is sent to. That is why it must be https, is reached only
// at addresses of the public internet, may not redirect, and is given little time.
package push
