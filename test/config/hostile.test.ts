/** Run files and overrides that nobody writes by hand: each ends in one bounded message, and soon. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Console, Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { parseOverride } from "../../src/config/overrides.ts";
import { load, resolve } from "../../src/config/resolve.ts";
import { refused, resolved, withConfigs } from "./configs.ts";

/** The message of the run file `run` after `prepare` has changed its folder. */
const message = (prepare: (dir: string) => void, name = "run"): string =>
  withConfigs({}, (dir) => {
    prepare(dir);
    const result = Effect.runSync(Effect.result(resolve(name, [], dir)));
    return Result.isFailure(result) ? result.failure.message.replaceAll(dir, "DIR") : "accepted";
  });

const written = (content: string | Uint8Array): string =>
  message((dir) => writeFileSync(join(dir, "run.yaml"), content));

/** `of(0)`, `of(1)`, … in lines. */
const lines = (count: number, lineAt: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => lineAt(index)).join("\n");

describe("aliases", () => {
  const bomb = (key: string, last: string) =>
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
      .concat([..."bcdefg"].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[at]}`).join(", ")}]`))
      .concat(`${key}: ${last}`)
      .join("\n");

  it("are expanded where they stand", () => {
    const { config } = resolved("custom_envs: { A: &a { env_type: bandit, max_tokens: 7 }, B: *a }");
    expect(config.custom_envs.B).toEqual(config.custom_envs.A);
  });

  it("stand for the last anchor of their name before them", () => {
    const { config } = resolved("run: { name: &x first }\nactor: { lr: &x 0.5 }\ncritic: { lr: *x }");
    expect(config.critic.lr).toBe(0.5);
  });

  it("that multiply one another are refused", () => {
    expect(written(bomb("h", "*g"))).toMatch(/^DIR\/run\.yaml: not valid YAML: more than 100 aliases of one anchor/);
  });

  it("that multiply a long text are refused", () => {
    const text = `a: &a ${"x".repeat(100_000)}\nb: [${Array(1000).fill("*a").join(", ")}]`;
    expect(written(text)).toContain("more than 100 aliases of one anchor");
  });

  it.each(["run: &a { name: *a }", "run: &a [*a]", "a: &a { b: { c: *a } }"])(
    "that contain themselves are refused: %s",
    (text) => {
      expect(written(text)).toContain("not valid YAML: an alias inside of what it stands for");
    },
  );

  it("that are keys are checked as the keys they stand for", () => {
    expect(written("a: &p __proto__\n? *p\n: { polluted: 1 }")).toContain('"__proto__" cannot be a key');
    expect(written("a: &p [1, 2]\n? *p\n: 3")).toContain("a list or map as a key");
    expect(written("a: &p b\nb: 1\n? *p\n: 2")).toContain('the key "b" is given twice');
    expect(written("a: &p x\nb: &q y\n? *p\n: 1\n? *q\n: 2")).not.toContain("given twice");
  });

  it("without an anchor are refused", () => {
    expect(written("run: { name: *missing }")).toMatch(/missing/);
  });
});

describe("structure", () => {
  it.each([
    ["lists", `a: ${"[".repeat(10_000)}${"]".repeat(10_000)}`],
    ["maps", `a: ${"{a: ".repeat(40)}1${"}".repeat(40)}`],
    ["open lists", "[".repeat(10_000)],
    ["dashes", "- ".repeat(10_000)],
    ["indented maps", lines(300, (index) => `${" ".repeat(index)}a:`)],
  ])("nested too deeply is refused: %s", (_, text) => {
    expect(written(text)).toContain("more than 32 levels of lists and maps");
  });

  it("with `__proto__` as a key is refused, in files and overrides", () => {
    expect(written("__proto__: { polluted: 1 }")).toContain('"__proto__" cannot be a key');
    expect(refused("", "__proto__.polluted=1")).toContain('"__proto__" cannot be a key');
    expect(refused("", "actor.__proto__.polluted=1")).toContain('"__proto__" cannot be a key');
    expect(refused("", "custom_envs={__proto__: {}}")).toContain('"__proto__" cannot be a key');
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it("with names of Object as keys is read as any other", () => {
    expect(
      refused("constructor: 1\nprototype: 2")
        .split("\n")
        .map((line) => line.split(" (")[0]),
    ).toEqual(["constructor: unknown key", "prototype: unknown key"]);
    expect(resolved("custom_envs: { constructor: { env_type: bandit } }").config.custom_envs.constructor).toMatchObject(
      {
        env_type: "bandit",
      },
    );
  });

  it("with a list as a key is refused", () => {
    expect(written("? [1, 2]\n: 3")).toContain("a list or map as a key");
  });
});

describe("files that are no run files", () => {
  it("because they are folders", () => {
    expect(message((dir) => mkdirSync(join(dir, "run.yaml")))).toBe("DIR/run.yaml: is a folder, not a file");
    expect(message((dir) => mkdirSync(join(dir, "other")), "DIR/other")).toContain("DIR/other");
  });

  it("because they are pipes, which nobody writes to", () => {
    const problem = message((dir) => execFileSync("mkfifo", [join(dir, "run.yaml")]));
    expect(problem).toBe("DIR/run.yaml: is a pipe or a device, not a file");
  });

  it("because they are devices", () => {
    expect(message(() => undefined, "/dev/zero")).toBe("/dev/zero: is a pipe or a device, not a file");
  });

  it("because they are not text", () => {
    expect(written(Uint8Array.from({ length: 1000 }, (_, index) => (index * 151) % 256))).toBe(
      "DIR/run.yaml: is not UTF-8 text",
    );
  });

  it("because they are longer than a run file may be, those that they include counted", () => {
    expect(written(`#${"x".repeat(300_000)}`)).toContain("is longer than 262144 bytes");
    const half = (dir: string, name: string, before: string) =>
      writeFileSync(join(dir, `${name}.yaml`), `${before}\n#${"x".repeat(150_000)}`);
    const problem = message((dir) => {
      half(dir, "run", "defaults: [other]");
      half(dir, "other", "{}");
    });
    expect(problem).toMatch(/^DIR\/other\.yaml: is longer than \d+ bytes/);
  });

  it("because they include one another without end, or too many", () => {
    const looped = message((dir) => {
      symlinkSync(".", join(dir, "here"));
      writeFileSync(join(dir, "run.yaml"), "defaults: [here/run]");
    });
    expect(looped).toContain("includes itself: run -> run");
    const doubled = message((dir) => {
      for (let at = 0; at < 20; at++) writeFileSync(join(dir, `n${at}.yaml`), `defaults: [n${at + 1}, n${at + 1}]`);
      writeFileSync(join(dir, "n20.yaml"), "{}");
    }, "n0");
    expect(doubled).toContain("more than 64 files are included");
  });

  it("because what they include can have no name", () => {
    expect(written(`defaults: ["a\\0b"]`)).toContain("expected a list of run file names");
    expect(written(`defaults: [${"x".repeat(10_000)}]`)).toMatch(
      /^DIR\/run\.yaml: defaults: .{0,100}expected a list of run file names$/,
    );
  });
});

describe("many keys", () => {
  it("that are unknown: the first are named, the others counted", () => {
    const problems = written(`defaults: [base]\n${lines(20_000, (index) => `key${index}: 1`)}`).split("\n");
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe("… and 19990 more");
  });

  it("in an unknown section likewise", () => {
    const problems = refused(`actr:\n${lines(2_000, (index) => `  k${index}: 1`)}`).split("\n");
    expect(problems[0]).toMatch(/^actr\.k0: unknown key/);
    expect(problems.at(-1)).toBe("… and 1990 more");
  });

  it("of overrides likewise", () => {
    const problems = refused("", ...Array.from({ length: 5_000 }, (_, index) => `key${index}=1`)).split("\n");
    expect(problems.at(-1)).toBe("… and 4990 more");
  });

  it("of one environment are read", () => {
    const { config } = resolved(
      `custom_envs:\n  A:\n    env_type: bandit\n    env_config:\n${lines(10_000, (index) => `      k${index}: ${index}`)}`,
    );
    expect(Object.keys(config.custom_envs.A?.env_config ?? {})).toHaveLength(10_000);
  });

  it("of overrides for one environment are read", () => {
    const overrides = Array.from({ length: 5_000 }, (_, index) => `custom_envs.Bandit.env_config.k${index}=${index}`);
    expect(Object.keys(resolved("", ...overrides).config.custom_envs.Bandit?.env_config ?? {})).toHaveLength(5_000);
  });

  it("of presets without an environment, and tags without a preset: the first are named", () => {
    const presets = refused(`custom_envs:\n${lines(5_000, (index) => `  T${index}: { max_tokens: 1 }`)}`).split("\n");
    expect(presets.at(-1)).toBe("… and 4990 more");
  });

  it("that refer to one another in a chain are refused", () => {
    const chain = lines(2_000, (index) => `      k${index}: "\${custom_envs.A.env_config.k${index + 1}}"`);
    const problem = refused(`custom_envs:\n  A:\n    env_type: bandit\n    env_config:\n${chain}\n      k2000: 1`);
    expect(problem).toContain("refers to others through more than 16");
  });

  it("that references multiply are refused", () => {
    const section = `  A:\n    env_type: bandit\n    env_config:\n${lines(1_000, (index) => `      k${index}: 1`)}`;
    const references = lines(1_000, (index) => `      r${index}: "\${custom_envs.A}"`);
    const problem = refused(`custom_envs:\n${section}\n  B:\n    env_type: bandit\n    env_config:\n${references}`);
    expect(problem).toBe("more than 50000 values, references resolved");
  });
});

describe("a message", () => {
  it("cuts long keys and values", () => {
    expect(refused("", `${"k".repeat(100_000)}=1`).length).toBeLessThan(500);
    expect(refused("", `actor.lr=${"v".repeat(100_000)}`).length).toBeLessThan(300);
    expect(refused("", `actor.lr=[${"v,".repeat(30_000)}]`).length).toBeLessThan(300);
    expect(refused("", `actor.lr=[${"v,".repeat(30_000)}`).length).toBeLessThan(300);
  });

  it("shows what a terminal would obey as escapes", () => {
    const problems = refused(
      String.raw`"\e[31mred\u202e": 1`,
      "actor.lr=\u001b]0;title\u0007",
      "\u009b1m=2",
      "actor.a\nb=1",
    );
    expect(problems.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(problems.split("\n")).toHaveLength(4);
  });

  it("names numbers that JSON does not have", () => {
    expect(refused("", "actor.lr=1e400")).toContain("actor.lr: Infinity");
    expect(refused("", "actor.lr=.nan")).toContain("actor.lr: NaN");
  });
});

describe("overrides", () => {
  it("that are longer than a run file together are refused", () => {
    const overrides = Array.from({ length: 3 }, () => `run.name=${"x".repeat(100_000)}`);
    expect(refused("", ...overrides)).toBe(
      "3 overrides of 300027 characters: at most 262144 are taken; write them to a run file",
    );
  });

  it("of very deep keys or values are refused", () => {
    expect(refused("", `${"a.".repeat(40_000)}b=1`)).toContain("a key of more than 32 names");
    expect(refused("", `actor.lr=${"[".repeat(40_000)}`)).toContain("more than 32 levels");
  });

  it("have no negative zero", () => {
    expect(Result.getOrThrow(parseOverride("a=-0"))).toEqual({ _tag: "Set", path: ["a"], value: 0 });
  });
});

describe("references", () => {
  it.each([
    ["${", "."],
    ["${a", " "],
    ["${a:", "x"],
    ["", "${a:"],
    ["", "${."],
  ])("that begin with %j and %j again and again are read in time", (start, repeated) => {
    expect(refused("", `run.name=${start}${repeated.repeat(100_000 / repeated.length)}`).length).toBeLessThan(500);
  });
});

describe("warnings", () => {
  it("of many keys without a meaning are one message", () => {
    const printed: string[] = [];
    const presets = lines(1_000, (index) => `  T${index}: { env_type: bandit, max_workers: 1 }`);
    withConfigs({ run: `defaults: [base]\ncustom_envs:\n${presets}` }, (dir) =>
      Effect.runSync(
        load("run", [], dir).pipe(
          Effect.provideService(Console.Console, {
            ...globalThis.console,
            error: (line: string) => printed.push(line),
          }),
        ),
      ),
    );
    expect(printed.join("\n").split("\n")).toEqual([
      "warning: 1000 keys are set aside, as nothing here depends on them:",
      expect.stringMatching(/^ {2}threads of environments \(.*\): custom_envs\.\*\.max_workers$/),
    ]);
  });
});
