/** The page of a sweep: its data comes back, its elements stay the same whatever the texts are, and it is drawn by the page's own modules. */
import { describe, expect, it } from "vitest";
import type { SweepData } from "../../../../src/observe/watch/page/sweep/SweepData.ts";
import { sweepDocumentOf } from "../../../../src/observe/watch/report/document.ts";

const data = (name: string): SweepData => ({
  written: 0,
  version: "1",
  name,
  runs: 2,
  file: name,
  interval: "t",
  heads: [{ metric: "train/success", of: "last" }],
  metrics: [],
  points: [
    { name, runs: 1, cells: [{ mean: 0.5, low: null, high: null }], curves: { steps: [1], times: [0], series: [] } },
  ],
});

const hostile = `</script><script>alert(1)</script><!-- "&'\u2028`;
const scripts = (html: string): readonly string[] => Array.from(html.matchAll(/<script\b[^>]*>/g), ([tag]) => tag);

describe("the page of a sweep", () => {
  it("gives its data back", () => {
    const html = sweepDocumentOf(data(hostile));
    const [, json = ""] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? [];
    expect(JSON.parse(json)).toEqual(data(hostile));
    expect(scripts(html)).toEqual(scripts(sweepDocumentOf(data("plain"))));
  });

  it("starts with the sweep's own module and refers to nothing outside itself", () => {
    const html = sweepDocumentOf(data("plain"));
    expect(html).toContain('import "millrace/observe/watch/page/sweep/main.ts";');
    expect(html.match(/(?:src|href)="(?!data:)[^"]*"/g)).toBeNull();
  });
});
