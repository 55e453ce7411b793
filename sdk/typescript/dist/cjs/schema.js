"use strict";
// Generated from docs/openapi.json by gen. Do not edit.
Object.defineProperty(exports, "__esModule", { value: true });
