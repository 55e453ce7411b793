// Generated from docs/openapi.json by gen. Do not edit.
export {};
