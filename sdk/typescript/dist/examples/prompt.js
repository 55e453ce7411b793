// One-shot usage with prompt()
import { prompt } from '@terret-dev/terret/sdk';
const result = await prompt("List files in current directory", {
    model: 'anthropic/claude-sonnet-4-20250514'
});
console.log('Success:', !result.isError);
