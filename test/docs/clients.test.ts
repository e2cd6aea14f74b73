/** The table of clients in docs/agents.md has the versions that test/clients/install.sh installs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const read = (path: string): string => readFileSync(join(packageRoot, path), "utf8");

const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  read("test/clients/install/package.json"),
);
const npm = new Map(Object.entries(dependencies));
const python = new Map(
  read("test/clients/install/requirements.txt")
    .split("\n")
    .flatMap((line) => {
      const [name = "", version] = line.split("==");
      return version === undefined ? [] : [[name, version] as const];
    }),
);

const rows = [...read("docs/agents.md").matchAll(/^\| (.*`.*) \| ([\d., ]+) \| .* \|$/gm)].map(
  ([, names = "", versions = ""]) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    versions: versions.split(", "),
    installed: /Python|command/.test(names) ? python : npm,
  }),
);

it("names the versions of all clients that are installed", () => {
  expect(rows.map(({ versions }) => versions)).toEqual(
    rows.map(({ installed, names }) => names.map((name) => installed.get(name))),
  );
  const named = rows.flatMap(({ names }) => names);
  // The AI SDK's tools are written with zod, which is no client.
  expect([...npm.keys()].filter((name) => name !== "zod" && !named.includes(name))).toEqual([]);
  expect(named.length).toBe(13);
});
