/** A user's module must export an environment; these are the messages for one that exports something else. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import lights from "../../../docs/examples/environment/lights.ts";
import { environmentOf, load } from "../../../src/env/custom/EnvironmentModule.ts";
import patientLights from "./fixtures/patientLights.ts";

const refused = (exported: Readonly<Record<string, unknown>>): string => {
  const result = environmentOf(exported);
  return Result.isFailure(result) ? result.failure : "accepted";
};

describe("the default export of a module", () => {
  it("may be an environment of either kind", () => {
    expect(Result.getOrThrow(environmentOf({ default: lights }))).toBe(lights);
    expect(Result.getOrThrow(environmentOf({ default: patientLights }))).toBe(patientLights);
  });

  it("may be an instance of a class", () => {
    class Inherited {}
    Object.assign(Inherited.prototype, lights);
    expect(refused({ default: new Inherited() })).toBe("accepted");
  });

  it("must be there", () => {
    expect(refused({ lights, Config: lights.config })).toBe(
      "no default export (it exports lights, Config); write `export default` before the environment",
    );
    expect(refused({})).toContain("(it exports nothing)");
  });

  it("must be an object", () => {
    expect(refused({ default: () => lights })).toBe("the default export is no environment: it is not an object");
  });

  it("must have every member, each missing or wrong one named", () => {
    const { step: _, ...rest } = lights;
    expect(refused({ default: { ...rest, type: "", config: {}, solve: 3, asynchronous: false } })).toBe(
      "the default export is no environment: type is not a text that is not empty; config is not a Schema; " +
        "step is missing (a function); asynchronous is not true, or left out; solve is 3, not a function",
    );
  });

  it("must say its limits where it waits", () => {
    const { capacity: _, ...rest } = patientLights;
    expect(refused({ default: { ...rest, timeoutMs: 5 } })).toBe(
      "the default export is no environment: capacity is missing (a function); timeoutMs is 5, not a function",
    );
  });
});

describe("a module that is not there", () => {
  it("is answered with its nearest neighbour", async () => {
    const path = new URL("../../../docs/examples/environment/light.ts", import.meta.url).pathname;
    const nearest = path.replace("light.ts", "lights.ts");
    expect(await load(path)).toEqual(Result.fail(`no such file; nearest: ${nearest}`));
    expect(await load("/nowhere/at/all.ts")).toEqual(Result.fail("no such file"));
  });
});

describe("a module that throws while it is loaded", () => {
  it("is answered with what it throws and where", async () => {
    const path = new URL("./fixtures/broken.ts", import.meta.url).pathname;
    expect(await load(path)).toEqual(Result.fail("the module cannot be loaded: broken.ts:2: Error: the lamps are out"));
  });
});

describe("a module whose top level does not finish", () => {
  it("is given up after a while", async () => {
    const path = new URL("./fixtures/endless.ts", import.meta.url).pathname;
    expect(await load(path, 20)).toEqual(
      Result.fail(
        "the module cannot be loaded: Error: its top level has not finished after 0.02 s; slow work belongs in its functions",
      ),
    );
  });
});

describe("a module that turns on the process", () => {
  const pathOf = (file: string): string => new URL(`./fixtures/${file}`, import.meta.url).pathname;

  it.each([
    ["exits.ts", "exits.ts:4: ProcessEnd: process.exit(0)"],
    ["kills.ts", `kills.ts:2: ProcessEnd: process.kill(${process.pid}, SIGKILL)`],
  ])("is refused, and the process goes on: %s", async (file, what) => {
    expect(await load(pathOf(file))).toEqual(
      Result.fail(`the module cannot be loaded: ${what} would end the whole run; throw an error instead`),
    );
  });
});
