/** The report's document: everything is in it, and no text of a run gets out of its place. */
import { describe, expect, it } from "vitest";
import type { ReportData } from "../../../../src/observe/watch/page/report/ReportData.ts";
import { documentOf, scriptJson } from "../../../../src/observe/watch/report/document.ts";
import { modulesFrom } from "../../../../src/observe/watch/report/modules.ts";

const hostile = `</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> "&'\u2028\u2029]]>`;

const data = (id: string): ReportData => ({
  written: 0,
  version: "1",
  metrics: [],
  runs: [
    {
      card: {
        id,
        name: id,
        stamp: "",
        state: "completed",
        message: hostile,
        mode: "sync",
        maxStaleness: 0,
        seed: 0,
        step: 0,
        steps: 0,
        started: 0,
        last: 0,
        controllable: false,
      },
      summary: {
        kind: "training",
        steps: { done: 0, planned: null },
        minutes: null,
        validation: { before: null, best: null, last: null },
        failedShare: null,
        checkpoint: { newest: null, best: null },
      },
      config: hostile,
      curves: { steps: [], times: [], series: [] },
      gradients: [],
      windows: [],
      marks: [],
      line: null,
      scenes: {},
      groups: [],
      counts: { episodes: 0, marksLeftOut: 0, groupsLeftOut: 0 },
    },
  ],
});

const scripts = (html: string): readonly string[] => Array.from(html.matchAll(/<script\b[^>]*>/g), ([tag]) => tag);

describe("the document", () => {
  it("has the same elements whatever the texts of a run are", () => {
    const html = documentOf(data(hostile));
    expect(scripts(html)).toEqual(scripts(documentOf(data("plain"))));
    expect(/<img|<!--/.exec(html)).toBeNull();
  });

  it("gives its data back", () => {
    const html = documentOf(data(hostile));
    const [, json = ""] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? [];
    expect(JSON.parse(json)).toEqual(data(hostile));
    expect(JSON.parse(scriptJson(hostile))).toBe(hostile);
    expect(scriptJson(hostile)).not.toMatch(/[<>&\u2028\u2029]/);
  });

  it("refers to nothing outside itself", () => {
    const html = documentOf(data("plain"));
    const [head = ""] = html.split('<script type="importmap">');
    const tags = Array.from(html.matchAll(/<[a-z][^>]*>/g), ([tag]) => tag);
    expect(tags.filter((tag) => /\b(?:src|href)=/.test(tag))).toEqual([]);
    expect(head.match(/@import|url\((?!"?data:)/)).toBeNull();
    expect(head.includes("default-src 'none'")).toBe(true);
  });
});

describe("the modules", () => {
  const { entry, imports } = modulesFrom(new URL("../../../../src/observe/watch/page/report/main.ts", import.meta.url));
  const sources = Object.values(imports).map((address) =>
    Buffer.from(address.split(",")[1] ?? "", "base64").toString(),
  );

  it("are those that the page runs, with their libraries, and have no types", () => {
    expect(Object.keys(imports)).toContain(entry);
    expect(Object.keys(imports)).toEqual(
      expect.arrayContaining([
        "preact",
        "preact/hooks",
        "htm",
        "htm/preact",
        "uplot",
        "millrace/observe/watch/page/drawing/read.ts",
      ]),
    );
    expect(sources.filter((source) => /\binterface \w+ \{|\bimport type\b/.test(source))).toEqual([]);
  });

  it("import one another by names that are there", () => {
    const specifiers = sources.flatMap((source) =>
      Array.from(source.matchAll(/^(?:import|export)\b[^;"']*\bfrom\s*"([^"]+)"/gm), ([, name = ""]) => name),
    );
    expect(specifiers.length).toBeGreaterThan(30);
    expect(specifiers.filter((name) => !Object.hasOwn(imports, name))).toEqual([]);
  });
});
