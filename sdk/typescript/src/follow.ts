import type { Stream, StreamEvent } from './connection.js';
import type { Server } from './server.js';
import { TerretError, errorOf } from './errors.js';

/** How often a stream is opened again without anything coming from it. */
const attempts = 6;

/**
 * Follows a stream of events after a number. It is open when the promise resolves. When the
 * connection breaks it is opened again after the last event, so nothing is lost or repeated.
 */
export async function follow(server: Server, path: string, after: number, signal: AbortSignal, background = false): Promise<Stream> {
  const open = (last: string) => server.connection.stream(`${path}&after=${last}`, signal, background);
  return reopening(server, open, await open(String(after)), String(after), signal);
}

async function* reopening(server: Server, open: (last: string) => Promise<Stream>, stream: Stream, last: string, signal: AbortSignal): AsyncGenerator<StreamEvent, void> {
  for (let failed = 0; ; failed++) {
    for await (const event of stream) {
      if (event.name === 'stream.end') throw errorOf(0, event.data);
      failed = 0;
      if (event.id !== '') last = event.id;
      yield event;
    }
    for (;;) {
      if (signal.aborted) return;
      await pause(50 * 2 ** failed, signal);
      try {
        stream = await open(last);
        break;
      } catch (error) {
        if (signal.aborted) return;
        if (++failed >= attempts || !(error instanceof TerretError) || error.code !== 'connection_failed') throw await server.explain(error);
      }
    }
    if (failed >= attempts) throw new TerretError('connection_failed', 'the server ends every stream at once');
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
