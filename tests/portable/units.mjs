/**
 * Runs a bundle of tests that were written for `deno test` under any runtime: `node units.mjs TESTS.js`. The last line of
 * its output is JSON: how many passed, and the names of those that failed.
 */
import { pathToFileURL } from "node:url";

// Tests are written for a newer engine than Node 20 has; the library itself is not.
Array.fromAsync ??= async function (items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
};
Promise.withResolvers ??= function () {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

/** What is said about time is said about one engine. */
const ABOUT_TIME = /\blinear\b|hundredths of a second/;

const tests = [];
globalThis.Deno = {
  test(first, second) {
    const { name, fn, ignore = false } = typeof first === "string" ? { name: first, fn: second } : first;
    if (!ignore && !ABOUT_TIME.test(name)) tests.push({ name, fn });
  },
};

/** What a test is given: steps are run in place. */
const context = {
  async step(first, second) {
    const { fn } = typeof first === "string" ? { fn: second } : first;
    await fn(context);
    return true;
  },
};

await import(pathToFileURL(process.argv[2]).href);
const failed = [];
for (const { name, fn } of tests) {
  try {
    await fn(context);
  } catch (error) {
    failed.push(name);
    console.log(`FAILED ${name}: ${error?.stack ?? error}`);
  }
}
console.log(JSON.stringify({ passed: tests.length - failed.length, failed }));
