import { describe, expect, it } from "vitest";
import { progressBar } from "../../../src/support/process/ProgressBar.ts";

const written = (isTTY: boolean) => {
  const texts: string[] = [];
  const write = (text: string) => texts.push(text) > 0;
  return { texts, out: { write, isTTY, columns: 50 } };
};

describe("a progress bar", () => {
  it("is one line for each piece of work where lines cannot be drawn again", () => {
    const { out, texts } = written(false);
    const progress = progressBar(out);
    progress.show(0.1, "probing");
    progress.show(0.2, "probing");
    progress.show(0.5, "searching");
    progress.close();
    expect(texts).toEqual([" 10 %  probing\n", " 50 %  searching\n"]);
  });

  it("is drawn again on a terminal, never wider than it, and cleared at the end", () => {
    const { out, texts } = written(true);
    const progress = progressBar(out);
    progress.show(0.5, "a piece of work with a name that does not fit");
    progress.close();
    const [line, cleared] = texts;
    expect(line?.slice("\r\u001b[K".length)).toMatch(/^\[#{12} {12}\] {2}50 %/);
    expect(line!.length).toBeLessThanOrEqual(50 + "\r\u001b[K".length);
    expect(cleared).toBe("\r\u001b[K");
  });
});
