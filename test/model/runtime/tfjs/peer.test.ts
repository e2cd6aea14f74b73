import { Effect, Exit } from "effect";
import { describe, expect, it } from "vitest";
import { checkRuntime } from "../../../../pipelines/prepareRun.ts";
import { addRemovedFunctions, installedPeer, MISSING_PEER, peers } from "../../../../src/model/runtime/tfjs/peer.ts";
import { configWith } from "../../../build/config.ts";

const model = configWith().model;

const finds =
  (...installed: readonly string[]) =>
  (name: string): string => {
    if (!installed.includes(name)) throw new Error(`Cannot find module '${name}'`);
    return `/node_modules/${name}/index.js`;
  };

describe("the tfjs package", () => {
  it("is the fastest of those installed", () => {
    expect(installedPeer(finds("@tensorflow/tfjs", "@tensorflow/tfjs-node-gpu"))).toBe("@tensorflow/tfjs-node-gpu");
    expect(installedPeer(finds("@tensorflow/tfjs", "@tensorflow/tfjs-node"))).toBe("@tensorflow/tfjs-node");
    expect(installedPeer(finds())).toBeUndefined();
  });

  it("is asked for in one message where none is installed, and not at all on onnxruntime", () => {
    const check = (runtime: "onnx" | "tfjs") =>
      Effect.runSyncExit(checkRuntime({ model: { ...model, runtime } }, finds()));
    expect(Exit.isSuccess(check("onnx"))).toBe(true);
    const refused = check("tfjs");
    expect(Exit.isFailure(refused) && String(refused.cause)).toContain(MISSING_PEER);
    for (const name of peers) expect(MISSING_PEER).toContain(name);
  });

  it("finds the functions that Node has removed", () => {
    const util = { isArray: Array.isArray };
    addRemovedFunctions(util);
    expect(util).toMatchObject({ isArray: Array.isArray, isNullOrUndefined: expect.any(Function) });
    const { isNullOrUndefined } = util as { readonly isNullOrUndefined?: (value: unknown) => boolean };
    expect([null, undefined, 0, ""].map((value) => isNullOrUndefined?.(value))).toEqual([true, true, false, false]);
  });
});
