/** A plan as lines of text for a terminal: memory by thread and by what holds it, the peak against the limit, the speed, and what to turn down. */

import type { MemoryLimit } from "../src/support/process/memoryLimits.ts";
import type { Item } from "../src/tools/planning/Owners.ts";
import type { Plan } from "../src/tools/planning/Plan.ts";
import { indented, table } from "./table.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** "12 MiB", "1.4 GiB" */
export const inBytes = (bytes: number): string => {
  if (bytes >= GiB) return `${(bytes / GiB).toFixed(bytes < 100 * GiB ? 1 : 0)} GiB`;
  return bytes < 10 * MiB ? `${(bytes / MiB).toFixed(1)} MiB` : `${Math.round(bytes / MiB)} MiB`;
};

const rate = (perSecond: number): string =>
  perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en");

const total = (items: readonly Item[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0);

const during = { always: "", update: "in updates", rollout: "in rollouts" } as const;

/** The items of one thread's memory, the largest first. */
const ownerRows = (owner: string, items: readonly Item[]): ReadonlyArray<readonly string[]> => [
  [owner, "", inBytes(total(items)), ""],
  ...items
    .toSorted((a, b) => b.bytes - a.bytes)
    .map(({ bytes, during: when, what }) => ["", what, inBytes(bytes), during[when]]),
];

const owners = (items: readonly Item[]): readonly string[] => [...new Set(items.map(({ owner }) => owner))];

const aligned = (rows: ReadonlyArray<readonly string[]>, column: number): ReadonlyArray<readonly string[]> => {
  const width = Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) => row.map((cell, at) => (at === column ? cell.padStart(width) : cell)));
};

const memory = (items: readonly Item[], width: number): readonly string[] => {
  const rows = owners(items).flatMap((owner) =>
    ownerRows(
      owner,
      items.filter((item) => item.owner === owner),
    ),
  );
  return table(aligned([["THREAD", "WHAT IT HOLDS", "MEMORY", "WHEN"], ...rows], 2), { width });
};

const onDevice = ({ device }: Plan, width: number): readonly string[] =>
  device.length === 0
    ? []
    : [
        "",
        ...indented(
          "On webgpu beside it; the values of its passes are there too, and counted above instead:",
          "",
          width,
        ),
        ...memory(device, width),
        "",
      ];

const fitText = ({ peak }: Plan, limit: MemoryLimit | null): string => {
  const most = `At most ${inBytes(peak)} at one time`;
  if (limit === null) return `${most}; this system names no limit.`;
  const share = Math.round((100 * peak) / limit.bytes);
  return `${most}, ${share} % of the ${inBytes(limit.bytes)} that ${limit.source} allows.`;
};

const speed = ({ pipeline, speed: found }: Plan): readonly string[] => {
  if (pipeline !== "train") return [];
  if (found === null) return ["Speed: not measured (--no-probe)."];
  const update = `${rate(found.update)} tokens a second through an update.`;
  if (found.decode === null) return [`Expected: ${update}`, "          What servers generate is not predicted."];
  return [
    `Expected: ${rate(found.decode)} sampled tokens a second with every slot in use (bound by ${found.bound}),`,
    `          ${update}`,
  ];
};

/** Savings that are listed. */
const MOST_SAVINGS = 8;

const turnDown = ({ savings }: Plan, width: number): readonly string[] =>
  savings.length === 0
    ? []
    : [
        "",
        "To turn down, one at a time:",
        ...table(
          aligned(
            savings
              .slice(0, MOST_SAVINGS)
              .map(({ bytes, from, key, to }) => [`  ${key}=${to}`, inBytes(bytes), `less than with ${from}`]),
            1,
          ),
          { width },
        ),
      ];

export const planLines = (plan: Plan, limit: MemoryLimit | null, width: number): readonly string[] => [
  ...memory(plan.items, width),
  "",
  ...indented(fitText(plan, limit), "", width),
  ...onDevice(plan, width),
  ...speed(plan),
  ...turnDown(plan, width),
];

/** The message where threads reserve more address space than there may be. */
export const addressSpaceLine = ({ bytes, source }: MemoryLimit, need: number, threads: number): string =>
  `memory: ${source} allows ${inBytes(bytes)} of address space; this run reserves about ${inBytes(need)} with its ${threads} threads; set ulimit -v unlimited`;

/** The message of a refused run: what it needs and what there is in the first line, and the plan below. */
export const refusalLines = (plan: Plan, limit: MemoryLimit, width: number): readonly string[] => [
  `memory: ${limit.source} allows ${inBytes(limit.bytes)}; this run is expected to take ${inBytes(plan.peak)}; run.memory_check=off runs it anyway`,
  "",
  ...memory(plan.items, width),
  ...turnDown(plan, width),
];
