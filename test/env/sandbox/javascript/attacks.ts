/** Attacks on the JavaScript sandbox, one line of a table each: what it does, and how it ends. */
import { type Attack, refused } from "../attacks.ts";

/** The functions with which attacks are written. `tried` gives `"refused"` if every attempt throws or gives nothing. */
const prelude = `
const tried = (...attempts) => {
  const through = attempts.flatMap((attempt, at) => {
    try { return attempt() ? [at] : []; } catch { return []; }
  });
  return through.length === 0 ? "refused" : "went through: " + through;
};
const spin = () => { for (;;) {} };
`;

export const codeOf = ({ body, program }: Attack): string =>
  program
    ? `${prelude}\nif (readline() === "2") console.log("honest");\nelse (() => {\n${body}\n})();`
    : `${prelude}\nfunction attack() {\n${body}\n}\nfunction f(x) { return x === 2 ? "honest" : attack(); }`;

export const peaceful = 'const f = () => "peaceful";';

const wrong = ["error"] as const;
const late = ["timeout"] as const;
const full = ["memory", "error"] as const;

const endless: readonly Attack[] = [
  { name: "a loop", body: "for (;;) {}", ends: late },
  {
    name: "a loop that catches and goes on",
    body: "for (;;) { try { spin(); } catch {} finally { spin(); } }",
    ends: late,
  },
  { name: "a result whose conversion never ends", body: "return { toJSON: spin };", ends: late },
  { name: "a result with a getter that never ends", body: "return { get value() { return spin(); } };", ends: late },
  {
    name: "a result behind a proxy that never ends",
    body: "return new Proxy({}, { ownKeys: spin, get: spin });",
    ends: late,
  },
  {
    name: "a promise that resolves itself",
    body: "return new Promise(() => { const go = () => Promise.resolve().then(go); go(); });",
    ends: late,
  },
  {
    name: "a flood of promises",
    body: "const go = () => { for (let i = 0; i < 10; i++) Promise.resolve().then(go); }; go(); return new Promise(() => {});",
    ends: [...late, ...full],
  },
  { name: "a thenable that never ends", body: "return { then: spin };", ends: late },
  {
    name: "a generator that never ends",
    body: "return [...(function* () { for (;;) yield; })()];",
    ends: [...late, ...full],
  },
  { name: "an asynchronous loop", body: "return (async () => { for (;;) await null; })();", ends: late },
  { name: "a pattern that backtracks", body: "return /^(a|a)*$/.test('a'.repeat(60) + 'b');", ends: late },
  { name: "a comparison that never ends", body: "return [2, 1].sort(spin);", ends: late },
  { name: "a search that no interrupt reaches", body: "return new Array(4e9).indexOf(1);", ends: late },
  { name: "a number of many digits", body: "return String(7n ** (2n ** 26n));", ends: [...late, ...full, "output"] },
  {
    name: "waiting on shared memory",
    body: "return Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1e9);",
    ends: [...wrong, ...late],
  },
  {
    name: "an error whose text never ends",
    body: "throw { get message() { spin(); }, toString: spin };",
    ends: [...late, ...wrong],
  },
  { name: "a clock that stands still", body: "Date.now = () => 0; globalThis.Date = class {}; spin();", ends: late },
];

const large: readonly Attack[] = [
  { name: "arrays without end", body: "const kept = []; for (;;) kept.push(new Uint8Array(1 << 20));", ends: full },
  { name: "a text that doubles", body: "let text = 'x'; for (;;) text += text;", ends: full },
  { name: "one large buffer", body: "return new ArrayBuffer(2 ** 31 - 1).byteLength;", ends: full },
  { name: "a large repetition", body: "return 'x'.repeat(2 ** 29).length + 'x'.padEnd(2 ** 29).length;", ends: full },
  {
    name: "maps, symbols and closures without end",
    body: "const kept = new Map(); for (let i = 0; ; i++) kept.set(Symbol(i), () => i);",
    ends: [...full, ...late],
  },
  {
    name: "a memory error that is caught",
    body: "const kept = []; for (;;) { try { kept.push('x'.repeat(1 << 16) + kept.length); } catch { spin(); } }",
    ends: [...full, ...late],
  },
  { name: "calls without end", body: "const go = () => 1 + go(); return go();", ends: wrong },
  {
    name: "calls without end through conversions",
    body: "const o = { toString() { return '' + o; } }; return '' + o;",
    ends: wrong,
  },
  {
    name: "calls without end through proxies",
    body: "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x ?? 'refused';",
    ends: [...refused, ...full],
  },
  { name: "calls without end through sorting", body: "const go = () => [1, 2].sort(go); return go();", ends: wrong },
  {
    name: "JSON as deep as memory",
    body: "return JSON.parse('['.repeat(1e5) + ']'.repeat(1e5));",
    ends: [...full, ...late],
  },
  {
    name: "a result as deep as memory",
    body: "let value = 0; for (let i = 0; i < 1e5; i++) value = [value]; return value;",
    ends: [...full, "output", ...late],
  },
  {
    name: "a pattern as deep as memory",
    body: "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).source.length;",
    ends: full,
  },
  { name: "a result too long", body: "return 'x'.repeat(1e5);", ends: ["output"] },
  { name: "a result that contains itself", body: "const value = []; value.push(value); return value;", ends: wrong },
  {
    name: "a program that prints without end",
    body: "for (;;) console.log('x'.repeat(100));",
    program: true,
    ends: ["output"],
  },
  {
    name: "a program that prints on behind a catch",
    body: "for (;;) { try { process.stdout.write('x'.repeat(100)); } catch {} }",
    program: true,
    ends: ["output"],
  },
  {
    name: "a program that prints one huge line",
    body: "console.log('x'.repeat(1e6));",
    program: true,
    ends: ["output"],
  },
  {
    name: "a program that prints within what it prints",
    body: 'console.log({ toJSON() { for (;;) console.log("x".repeat(100)); } });',
    program: true,
    ends: ["output"],
  },
];

const reaching: readonly Attack[] = [
  {
    name: "the host through constructors",
    body: `const gifts = [console.log, readline, require, process.stdout.write, require("fs").readFileSync, module.exports, f];
return tried(...gifts.map((gift) => () => gift.constructor.constructor("return typeof globalThis.Buffer !== 'undefined' || typeof globalThis.process.binding !== 'undefined'")()));`,
    ends: refused,
  },
  {
    name: "the host's names",
    body: `return tried(...["Buffer", "fetch", "Worker", "WebAssembly", "setTimeout", "Deno", "std", "os", "performance", "structuredClone"].map((name) => () => name in globalThis));`,
    ends: refused,
  },
  {
    name: "modules and files",
    body: `return tried(() => require("child_process"), () => require("node:net"), () => require("../../Job.ts"), () => require("fs").readFileSync("/etc/passwd"),
  () => require("fs").readFileSync(3), () => require("fs").writeFileSync("/tmp/x", "x"), () => require("fs").constructor.constructor("return require('os')")());`,
    ends: refused,
  },
  {
    name: "a module by import",
    body: `return import("node:fs").then(() => "went through", () => "refused");`,
    ends: refused,
  },
  {
    name: "the callers of the host's functions",
    body: "return tried(() => f.caller, () => arguments.callee.caller, () => new Error().stack.includes('secret-'), () => Error.captureStackTrace);",
    ends: [...refused, '"went through: 3"'],
  },
  {
    name: "a stack prepared by itself",
    body: `Error.prepareStackTrace = (_, frames) => frames;
return tried(() => [...new Error("x").stack].some((frame) => ![undefined, null, globalThis].includes(frame.getThis?.()) || frame.getFunction?.()));`,
    ends: refused,
  },
  {
    name: "the expected output sought in all there is",
    body: `const seen = new Set();
const search = (value, depth) => {
  if (depth > 6 || value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return false;
  seen.add(value);
  return Reflect.ownKeys(value).some((key) => {
    try { const item = value[key]; return (typeof item === "string" && item.startsWith("secret-")) || search(item, depth + 1); } catch { return false; }
  });
};
return tried(() => search(globalThis, 0), () => search(f, 0));`,
    ends: refused,
  },
  {
    name: "reads beyond a buffer",
    body: `const bytes = new Uint8Array(8), view = new DataView(bytes.buffer);
return tried(() => bytes[1e9], () => bytes.at(-9), () => view.getUint8(8), () => view.getUint8(-1), () => new Uint8Array(bytes.buffer, 4, 64), () => bytes.subarray(-1e9, 1e9).length > 8, () => bytes.copyWithin(1e9, -1e9).length > 8);`,
    ends: refused,
  },
  {
    name: "a buffer that shrinks in use",
    body: `const bytes = new Uint8Array(1 << 16);
try { bytes.sort(() => { bytes.buffer.transfer?.(0); return -1; }); bytes.fill(1); } catch {}
try { new Uint8Array([3, 2, 1]).set({ length: 3, get 0() { bytes.buffer.transfer?.(0); return 1; } }); } catch {}
return "refused";`,
    ends: [...refused, ...wrong],
  },
  {
    name: "an array that changes in use",
    body: `const items = Array.from({ length: 1000 }, (_, i) => i);
try { items.sort(() => { items.length = 0; return 1; }); items.splice({ valueOf() { items.length = 0; return 0; } }, 500); } catch {}
return "refused";`,
    ends: [...refused, ...late, ...full],
  },
];

const forging: readonly Attack[] = [
  {
    name: "a writer of JSON that forges",
    body: `JSON.stringify = () => '"forged"'; JSON.parse = () => ["forged"]; return "refused";`,
    ends: refused,
  },
  {
    name: "objects that all become another",
    body: `Object.prototype.toJSON = Array.prototype.toJSON = () => "forged"; String.prototype.toJSON = () => "forged"; return ["refused"];`,
    ends: ['"forged"'],
  },
  {
    name: "calls that answer for others",
    body: `Reflect.apply = Function.prototype.call = Function.prototype.apply = () => "forged"; return "refused";`,
    ends: refused,
  },
  {
    name: "promises that answer for others",
    body: `Promise.prototype.then = (done) => done('"forged"'); Promise.resolve = () => "forged"; return Promise.reject(1);`,
    ends: ['"refused"', '"forged"', ...wrong],
  },
  {
    name: "lengths that lie",
    body: `Object.defineProperty(String.prototype, "length", { get: () => 0 }); return "x".repeat(1e5);`,
    ends: ["output"],
  },
  {
    name: "a result that is another each time",
    body: `let at = 0; return { toJSON: () => ({ at: at++ }) };`,
    ends: ['{"at":0}'],
  },
  {
    name: "a result without a prototype",
    body: `return Object.assign(Object.create(null), { __proto__: { forged: 1 }, constructor: 1 });`,
    ends: ['{"constructor":1}'],
  },
  {
    name: "an object that equals everything",
    body: `return { valueOf: () => "x", toString: () => "x", [Symbol.toPrimitive]: () => "x" };`,
    ends: ["{}"],
  },
  {
    name: "an error that imitates want of memory",
    body: `throw new Error("out of memory");`,
    ends: [...wrong, "memory"],
  },
  {
    name: "an error that is a proxy",
    body: `throw new Proxy(new Error("x"), { get() { throw new Error("y"); }, getPrototypeOf() { throw 1; } });`,
    ends: wrong,
  },
  { name: "an error that is nothing", body: "throw undefined;", ends: wrong },
  { name: "a promise never settled", body: "return new Promise(() => {});", ends: wrong },
  {
    name: "globals frozen and removed",
    body: `for (const name of Reflect.ownKeys(globalThis)) { try { delete globalThis[name]; } catch {} } Object.freeze(Object.prototype); return "refused";`,
    ends: wrong,
  },
  {
    name: "the prototypes of everything polluted",
    body: `Object.prototype.code = Object.prototype.limits = Object.prototype._tag = "forged"; Object.prototype[0] = "forged"; return "refused";`,
    ends: refused,
  },
  {
    name: "setters that catch what is made",
    body: `Object.defineProperty(Object.prototype, "0", { set(value) { this.forged = value; } }); return [1, 2];`,
    ends: ["[1,2]"],
  },
  {
    name: "work left for after the end",
    body: `new FinalizationRegistry(spin).register({}, 1); globalThis.late = new WeakRef({}); return "refused";`,
    ends: [...refused, ...wrong],
  },
  {
    name: "a program whose input answers for the next",
    body: "while (readline() !== null); Object.defineProperty(globalThis, 'readline', { value: () => '2' }); console.log('refused');",
    program: true,
    ends: ["refused\n"],
  },
  {
    name: "a program that rejects behind its back",
    body: "Promise.reject(new Error('late')); console.log('refused');",
    program: true,
    ends: ["refused\n"],
  },
];

export const attacks: readonly Attack[] = [...endless, ...large, ...reaching, ...forging];
