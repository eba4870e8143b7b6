#!/usr/bin/env node
// `npx holdfast …` in a checkout: the command line, set up and run as `npm start` is.
process.argv.splice(2, 0, "holdfast");
await import("./bootstrap.mjs");
