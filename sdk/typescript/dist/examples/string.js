import { createSession } from '@terret-dev/terret/sdk';
const session = await createSession({ model: 'anthropic/claude-sonnet-4-20250514' });
// Simple string message
await session.send("List files in current directory");
for await (const msg of session.receive()) {
    if (msg.type === 'message' && msg.role === 'assistant') {
        console.log('Assistant:', msg.content);
    }
    if (msg.type === 'result') {
        console.log('Done:', msg.subtype);
        break;
    }
}
session.close();
