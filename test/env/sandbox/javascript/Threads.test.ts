/** JavaScript submissions: their outcomes, and that hostile ones affect only themselves. */
import { Worker } from "node:worker_threads";
import { Effect, Fiber } from "effect";
import { describe, expect, it, vi } from "vitest";
import type { Job, Outcome, Report } from "../../../../src/env/sandbox/Job.ts";
import { run } from "../../../../src/env/sandbox/javascript/Threads.ts";
import { jobOf, outcomesOf, textOf } from "../jobs.ts";

const roomy = { testMs: 30_000, totalMs: 120_000, memoryBytes: 16 * 1024 * 1024, outputBytes: 10_000 };
const short = { ...roomy, testMs: 120 };

const job = (code: string, keys: Partial<Job> = {}): Job => jobOf(code, roomy, keys);

const report = (code: string, keys: Partial<Job> = {}): Promise<Report> => Effect.runPromise(run(job(code, keys)));

const outcomes = async (code: string, keys: Partial<Job> = {}): Promise<readonly Outcome[]> =>
  outcomesOf(await report(code, keys));

/** The result of a function without arguments. */
const value = async (code: string, keys: Partial<Job> = {}): Promise<unknown> =>
  JSON.parse(textOf(await outcomes(code, keys)));

const printed = async (code: string, stdin = ""): Promise<string> =>
  textOf(await outcomes(code, { entry: null, inputs: [stdin] }));

const reasons = async (code: string, keys: Partial<Job> = {}): Promise<readonly string[]> =>
  (await outcomes(code, keys)).map((outcome) => (outcome._tag === "Failed" ? outcome.reason : outcome.text));

describe("a function", () => {
  it.each([
    "function f(a, b) { return a + b; }",
    "const f = (a, b) => a + b;",
    "async function f(a, b) { await null; return a + b; }",
    "const f = (a, b) => Promise.resolve().then(() => a + b);",
    "module.exports = { f: (a, b) => a + b };",
    "module.exports = (a, b) => a + b;",
  ])("is found and called: %s", async (code) => {
    expect(await outcomes(code, { inputs: ["[1,2]", '["a","b"]'] })).toEqual([
      { _tag: "Answered", text: "3" },
      { _tag: "Answered", text: '"ab"' },
    ]);
  });

  it("gives values as JSON: nothing is null, whole bigints are numbers", async () => {
    expect(await value("const f = () => undefined;")).toBe(null);
    expect(await value("const f = () => [1n, { a: [] }];")).toEqual([1, { a: [] }]);
  });

  it("may print, which is not its result", async () => {
    expect(await value("function f() { console.log('x'); return 1; }")).toBe(1);
  });

  it.each([
    ["const g = 1;", "there is no function f"],
    ["const f = () => { throw new RangeError('no'); };", "RangeError: no"],
    ["const f = async () => { throw new Error('late'); };", "Error: late"],
    ["const f = () => { throw 7; };", "threw a number"],
    ["const f = () => NaN;", "TypeError: a result that is no finite number"],
    ["const f = () => { const a = []; a.push(a); return a; };", "TypeError: circular reference"],
    ["const f = () => new Promise(() => {});", "its promise is never settled"],
    ["throw new Error('at once');", "Error: at once"],
    ["const f = () => { const g = () => 1 + g(); return g(); };", "InternalError: stack overflow"],
  ])("fails, and says why: %s", async (code, message) => {
    expect(await outcomes(code)).toEqual([{ _tag: "Failed", reason: "error", message }]);
  });
});

describe("a program", () => {
  it("reads lines, and null after the last", async () => {
    expect(await printed("let l; while ((l = readline()) !== null) console.log('<' + l + '>');", "a b\n\nc")).toBe(
      "<a b>\n<>\n<c>\n",
    );
  });

  it("reads all of its input as Node's programs do", async () => {
    expect(await printed('console.log(require("fs").readFileSync(0, "utf8").length)', "four")).toBe("4\n");
  });

  it("prints values apart by spaces, objects as JSON", async () => {
    expect(await printed("console.log('a', 1, null, undefined, [1, 2], { b: 2n === 2n }, 3n);")).toBe(
      'a 1 null undefined [1,2] {"b":true} 3\n',
    );
    expect(await printed("process.stdout.write('x'); process.stdout.write('y\\n');")).toBe("xy\n");
  });

  it("runs what its promises have left to do", async () => {
    expect(await printed("(async () => { await null; console.log('later'); })();")).toBe("later\n");
  });

  it("starts afresh for each test", async () => {
    const code =
      "globalThis.n = (globalThis.n ?? 0) + 1; Array.prototype.x = 1; console.log(n, Object.keys([]).length);";
    expect(await reasons(code, { entry: null, inputs: ["", "", ""] })).toEqual(["1 0\n", "1 0\n", "1 0\n"]);
  });
});

describe("code that is none", () => {
  it.each(["function f( {", "let a; let a;", "import x from 'y'; const f = 1;", "(((((((("])(
    "does not compile, and nothing of it runs: %s",
    async (code) => {
      expect((await report(code))._tag).toBe("Uncompilable");
    },
  );
});

describe("limits", () => {
  it("end an endless loop, and let the next test run", async () => {
    const code = "function f(x) { while (x) { try { for (;;) {} } catch {} } return 'done'; }";
    expect(await reasons(code, { inputs: ["[1]", "[0]"], limits: short })).toEqual(["timeout", '"done"']);
  });

  it("end the thread where no interrupt reaches, and let the next test run in another", async () => {
    const code = "function f(x) { return x ? new Array(4e9).indexOf(1) : 'done'; }";
    const keys = { inputs: ["[1]", "[0]"], limits: { ...short, testMs: 250 } };
    expect((await reasons(code, keys)).at(0)).toBe("timeout");
    expect(await value("const f = () => 'still here';")).toBe("still here");
  });

  it("end endless promises", async () => {
    // None waits for the next: such a chain would fill the memory first on a quick machine.
    const code = "const f = () => new Promise(() => { const g = () => { Promise.resolve().then(g); }; g(); });";
    expect(await reasons(code, { limits: short })).toEqual(["timeout"]);
  });

  it("stop after the first test out of time where that fails them all", async () => {
    const keys = { inputs: ["[]", "[]", "[]"], limits: short, stopAtTimeout: true };
    const begun = performance.now();
    expect(await reasons("function f() { for (;;) {} }", keys)).toEqual(["timeout", "timeout", "timeout"]);
    expect(performance.now() - begun).toBeLessThan(60_000);
  });

  it("cut the tests that the time of all does not suffice for", async () => {
    const keys = { inputs: Array(50).fill("[]"), limits: { ...short, totalMs: 500 } };
    expect(new Set(await reasons("function f() { for (;;) {} }", keys))).toEqual(new Set(["timeout"]));
  });

  it.each([
    "const f = () => { const all = []; for (;;) all.push(new Uint8Array(1 << 20)); };",
    "const f = () => { let text = 'x'; for (;;) text += text; };",
    "const f = () => new ArrayBuffer(2 ** 31 - 1).byteLength;",
    "const f = () => new SharedArrayBuffer(2 ** 30).byteLength;",
  ])("refuse memory: %s", async (code) => {
    const [reason] = await reasons(code);
    expect(["memory", "error"]).toContain(reason);
  });

  it("keep a test's memory from the next one's", async () => {
    const code = "const f = () => new Uint8Array(10 * 2 ** 20).length;";
    expect(await reasons(code, { inputs: ["[]", "[]", "[]", "[]"] })).toEqual(Array(4).fill("10485760"));
  });

  it.each([
    ["an endless output", "for (;;) console.log('x'.repeat(100));"],
    ["a huge line", "console.log('x'.repeat(1e6));"],
    ["an output behind a catch", "for (;;) { try { console.log('xxxxxxxxxxxxxxxx'); } catch {} }"],
  ])("bound %s", async (_name, code) => {
    expect(await reasons(code, { entry: null, inputs: [""] })).toEqual(["output"]);
  });

  it("bound a result", async () => {
    expect(await reasons("const f = () => 'x'.repeat(1e5);")).toEqual(["output"]);
  });

  it("survive depths that the interpreter itself does not guard", async () => {
    const deep = "let x = 0; for (let i = 0; i < 3000; i++) x = { x };";
    expect(await value(`${deep} const f = () => JSON.stringify(x).length;`)).toBe(18_001);
    const code = "const f = () => { const g = (n) => [n].map(() => g(n + 1)); return g(0); };";
    expect(await reasons(code)).toEqual(["error"]);
    expect(await value("const f = () => 1;")).toBe(1);
  });
});

describe("a submission that tries to get out", () => {
  it("finds nothing of the host by any name", async () => {
    const code = `const names = ["Buffer", "fetch", "WebSocket", "WebAssembly", "Worker", "setTimeout",
      "importScripts", "std", "os", "Deno", "Bun", "performance", "queueMicrotask", "structuredClone", "write"];
      const f = () => names.filter((name) => name in globalThis);`;
    expect(await value(code)).toEqual([]);
  });

  it("finds a process without anything in it, and no module", async () => {
    const code = `const f = () => [Object.keys(process), Object.keys(process.env),
      ["child_process", "node:fs/promises", "worker_threads", "net"].filter((name) => { try { return require(name); } catch { return false; } }),
      ["/etc/passwd", "package.json", 3].filter((file) => { try { return require("fs").readFileSync(file); } catch { return false; } })];`;
    expect(await value(code)).toEqual([["argv", "env", "stdout"], [], [], []]);
  });

  it("reaches no host global through the constructors of what it is given", async () => {
    const reach = (what: string) =>
      `${what}.constructor.constructor("return typeof globalThis.process?.binding + typeof globalThis.Buffer")()`;
    const code = `const f = () => [console.log, readline, require, process, require("fs").readFileSync, f]
      .map((it) => ${reach("it")});`;
    expect(new Set((await value(code)) as string[])).toEqual(new Set(["undefinedundefined"]));
  });

  it("imports nothing", async () => {
    const code = "const f = () => import('node:fs').then(() => 'out', () => 'refused');";
    expect(await value(code)).toBe("refused");
  });

  it("deceives only itself by replacing what it runs on", async () => {
    const code = `JSON.stringify = () => '"forged"'; JSON.parse = () => ["forged"]; Reflect.apply = () => "forged";
      Promise.prototype.then = () => "forged"; Array.prototype[Symbol.iterator] = null; Function.prototype.call = null;
      String.prototype.slice = null; Object.prototype.toJSON = () => "forged"; globalThis.String = null;
      const f = (x) => x + 1;`;
    expect(await value(code, { inputs: ["[41]"] })).not.toBe("forged");
  });

  it("does not read the tests that come after", async () => {
    const code = "const f = (...all) => [all.length, typeof inputs, typeof job, typeof stdin];";
    expect(await value(code, { inputs: ["[1]", "[2]"] })).toEqual([1, "undefined", "undefined", "undefined"]);
  });

  it("leaves the process as it was", async () => {
    const before = [Object.keys(globalThis).length, process.listenerCount("uncaughtException")];
    await outcomes("const f = () => { Object.prototype.polluted = 1; globalThis.constructor.prototype.x = 1; };");
    expect([Object.keys(globalThis).length, process.listenerCount("uncaughtException")]).toEqual(before);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("an interrupted job", () => {
  it("ends its thread at once, and the next job has another", async () => {
    const terminate = vi.spyOn(Worker.prototype, "terminate");
    const fiber = Effect.runFork(run(job("function f() { for (;;) {} }")));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Effect.runPromise(Fiber.interrupt(fiber));
    expect(terminate).toHaveBeenCalledOnce();
    const [thread] = terminate.mock.contexts as Worker[];
    expect(thread!.threadId).toBe(-1);
    terminate.mockRestore();
    expect(await value("const f = () => 1;")).toBe(1);
  });
});
