/** Honest submissions in the sandbox: every solution in Python passes, and programs find what they may expect. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Effect, Fiber } from "effect";
import { beforeAll, describe, expect, it } from "vitest";
import { DeepCoder, type DeepCoderState } from "../../../src/env/games/deepcoder/DeepCoder.ts";
import { open } from "../../../src/env/sandbox/python/Sandbox.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { solutions } from "../games/deepcoder/solutions.ts";
import { configWith } from "../games/deepcoder/tasks.ts";
import { modes, openHarness, processes, programs, roomy, type SandboxHarness } from "./sandbox.ts";

const { signal } = new AbortController();
const config = configWith({
  python: programs.python,
  test_timeout: 20,
  total_timeout: 100,
  val_path: "config/data/deepcoder/val.jsonl",
});
const step = (state: DeepCoderState, action: string) => DeepCoder.step(config, state, action, noiseOf(0, 0, 0), signal);

const states = new Map<string, DeepCoderState>();
beforeAll(async () => {
  for (const split of ["train", "val"] as const) {
    for (let seed = 0; seed < 400; seed++) {
      const state = await DeepCoder.reset(config, instanceOf(seed), split, signal);
      states.set(state.task.name, state);
    }
  }
});

describe("every solution in Python passes", () => {
  it.each([...solutions.python.keys()])("%s", async (name) => {
    const { info, reward, state } = await step(states.get(name)!, solutions.python.get(name)!);
    expect({ note: state.verdict!.note, reward, ...info }).toMatchObject({ note: "", reward: 1, success: true });
  });
});

describe("the environment", () => {
  it("lacks nothing here", async () => {
    expect(await DeepCoder.lacks!(config)).toEqual([]);
  });

  it("gives a wrong answer the share it passes", async () => {
    const { info, reward } = await step(states.get("count_vowels")!, "def count_vowels(text):\n    return 0");
    expect(info).toMatchObject({ success: false, action_is_valid: true, compile_error: false, timed_out: false });
    expect(reward).toBe(info.passed_tests / info.total_tests);
    expect(reward).toBeGreaterThan(0);
  });
});

describe.each(modes)("a program in a sandbox confined by %s", (mode) => {
  let is: SandboxHarness;
  beforeAll(async () => {
    is = await openHarness(mode);
  });

  it("reads its input in every usual way", async () => {
    for (const read of [
      "sys.stdin.read()",
      "''.join(sys.stdin)",
      "open(0).read()",
      "sys.stdin.buffer.read().decode()",
      "os.read(0, 100).decode()",
      "input() + chr(10) + input() + chr(10)",
    ]) {
      expect(await is.printed(`import os, sys\nprint(repr(${read}))`, "a b\nç\n")).toBe("'a b\\nç\\n'\n");
    }
  });

  it("ends as Python ends: threads are awaited, what is registered runs, buffers are written", async () => {
    const code = `
import atexit, sys, threading, time
atexit.register(lambda: print("registered"))
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
sys.stdout.write("first\\n")
sys.exit()`;
    expect(await is.printed(code)).toBe("first\nthread\nregistered\n");
  });

  it("fails where it raises or exits with a status, and says the last of it", async () => {
    const failed = (message: string) => [{ _tag: "Failed", reason: "error", message }];
    const program = { entry: null, inputs: [""] };
    expect(await is.outcomes("print(1)\nraise KeyError('x')", program)).toEqual(failed("KeyError: 'x'"));
    expect(await is.ends("import sys\nsys.exit(3)", program)).toEqual(["error"]);
    expect(await is.ends("import sys\nsys.exit(0)", program)).toEqual([""]);
  });

  it("has a process of its own for each test", async () => {
    const code = "import builtins\nbuiltins.n = getattr(builtins, 'n', 0) + 1\nprint(builtins.n)";
    expect(await is.ends(code, { entry: null, inputs: ["", "", ""] })).toEqual(["1\n", "1\n", "1\n"]);
  });

  it("has the same order of sets every time", async () => {
    const code = "print(list({'a', 'b', 'c', 'd', 'e', 'f'}))";
    expect(await is.printed(code)).toBe(await is.printed(code));
  });

  it("recurses deep where it asks to", async () => {
    const code =
      "import sys\nsys.setrecursionlimit(10**6)\ng = lambda n: 0 if n == 0 else 1 + g(n - 1)\nprint(g(30_000))";
    expect(await is.printed(code)).toBe("30000\n");
  });

  it("uses the standard library", async () => {
    const names = [
      "collections",
      "heapq",
      "decimal",
      "fractions",
      "hashlib",
      "zlib",
      "datetime",
      "statistics",
      "dataclasses",
      "enum",
    ];
    expect(await is.printed(`import ${names.join(", ")}\nprint("all")`)).toBe("all\n");
  });

  it("has an event loop, threads that answer it, and its input as a mapping", async () => {
    const code = `
import asyncio, mmap, sys
async def main():
    loop = asyncio.get_running_loop()
    first, second = await asyncio.gather(loop.run_in_executor(None, lambda: 1), asyncio.sleep(0.01, 2))
    text = mmap.mmap(0, 0, access=mmap.ACCESS_READ)
    print(first, second, text[:3])
asyncio.run(main())`;
    expect(await is.printed(code, "abc\n")).toBe("1 2 b'abc'\n");
  });

  it("may be a dataclass, a method of Solution, a function with the customary names", async () => {
    const dataclass = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(): return P(3).x";
    expect(await is.value(dataclass)).toBe(3);
    const method = "class Solution:\n    def f(self, x: List[int]) -> int:\n        return max(x, default=-inf)";
    expect(await is.ends(method, { inputs: ["[[1, 2]]"], preamble: true })).toEqual(["2"]);
    expect(await is.ends(method, { inputs: ["[[1, 2]]"] })).toEqual(["error"]);
  });

  it("gives tuples as arrays, long integers whole, and no value that JSON lacks", async () => {
    expect(await is.ends("def f(): return (1, (2, [True, None]), 2**80)")).toEqual([
      `[1, [2, [true, null]], ${2n ** 80n}]`,
    ]);
    for (const value of ["float('nan')", "{1}", "object()", "b'x'"]) {
      expect(await is.ends(`def f(): return ${value}`)).toEqual(["error"]);
    }
  });

  it("leaves nothing running when it is interrupted", async () => {
    const job = {
      code: "while True: pass",
      entry: null,
      preamble: false,
      inputs: [""],
      limits: roomy,
      stopAtTimeout: false,
    };
    const fiber = Effect.runFork(is.sandbox.run(job));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await Effect.runPromise(Fiber.interrupt(fiber));
    await expect.poll(() => processes("/harness.py"), { timeout: 20_000 }).toEqual([]);
  });

  it("runs beside others", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, (_, at) => is.value(`def f(): return ${at}`)));
    expect(answers).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("a sandbox that does not hold", () => {
  const problem = async (changes: Readonly<Record<string, string>>): Promise<string> =>
    Effect.runPromise(Effect.flip(open({ ...programs, ...changes }, ["own"]))).then(({ message }) => message);

  it("is refused: a bubblewrap that confines nothing is found out from the inside", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
    const pretender = `${folder}/bwrap`;
    // It drops every option and runs the program as it is.
    const harness = fileURLToPath(new URL("../../../src/env/sandbox/python/harness.py", import.meta.url));
    const script = [
      "#!/bin/bash",
      '[ "$1" = --version ] && exit 0',
      'while [ "$1" != -- ]; do shift; done; shift',
      `exec "$1" -s -S -B ${harness}`,
    ];
    writeFileSync(pretender, `${script.join("\n")}\n`);
    chmodSync(pretender, 0o755);
    const message = await problem({ bubblewrap: pretender });
    rmSync(folder, { recursive: true });
    expect(message).toMatch(/does not confine: [\s\S]*\/etc\/passwd is there/);
  });

  it("is refused where there is no bubblewrap or no Python, with what to install", async () => {
    expect(await problem({ bubblewrap: "no-such-bwrap" })).toContain("apt-get install bubblewrap");
    expect(await problem({ python: "no-such-python" })).toContain("install python3");
    expect(await problem({ python: "/bin/true" })).toContain("install python3");
    expect(execFileSync(programs.bubblewrap, ["--version"]).toString()).toContain("bubblewrap");
  });
});
