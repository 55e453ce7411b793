// The document's own declarations, which what we export must fit.
import * as sdk from '@terret-dev/terret/sdk';
export const createSession = sdk.createSession;
export const prompt = sdk.prompt;
