import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { consoleSink } from "../../src/engine/Telemetry.ts";
import { recorder, run } from "../observe/sinks/fixtures.ts";

const opened = (console: "auto" | "live" | "plain" | "off", live: boolean): string => {
  const { terminal, written } = recorder();
  const sinks = consoleSink({ console, refresh_ms: 250, sinks: ["console"] }, { ...terminal, live });
  for (const sink of sinks) Effect.runSync(Effect.andThen(sink.open(run), sink.close({ _tag: "Completed" })));
  return written.join("");
};

describe("the console of a run", () => {
  it.each([
    ["auto", true, true],
    ["auto", false, false],
    ["live", false, true],
    ["plain", true, false],
  ] as const)("%s on a terminal that can redraw (%s) is the live block: %s", (console, live, block) => {
    const text = opened(console, live);
    expect(text).not.toBe("");
    expect(text.includes("\x1b[")).toBe(block);
  });

  it("off is none", () => {
    expect(opened("off", true)).toBe("");
  });
});
