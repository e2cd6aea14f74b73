/**
 * The page's server on a large run that was made up (10⁵ steps, 10⁴ recorded episodes): how soon it answers, how long each answer takes, what
 * it holds in memory; and the same while the run goes on under the eyes of 50 browsers and of one that does not read.
 */
import { type ChildProcess, fork } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { START, type Synthetic, writeRun } from "../test/observe/watch/syntheticRun.ts";
import type { Bench, Figure } from "./Bench.ts";
import { quantile } from "./samples.ts";

const size: Partial<Synthetic> = {
  steps: 100_000,
  groups: 8,
  groupSize: 8,
  metrics: 100,
  episodesEvery: 80,
  tokens: 300,
  keyframeBytes: 262_144,
};
const steps = 100_000;
const REPEATED = 100;
const BROWSERS = 50;
/** Changes of the run while browsers look, and milliseconds between them. */
const CHANGES = 40;
const EVERY_MS = 100;

const id = encodeURIComponent("made/20261122-000000");

const get = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const start = performance.now();
    const outgoing = request(url, { agent: false }, (response) => {
      response.resume();
      response.on("end", () =>
        response.statusCode === 200
          ? resolve(performance.now() - start)
          : reject(new Error(`${url}: ${response.statusCode}`)),
      );
    });
    outgoing.on("error", reject);
    outgoing.end();
  });

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
}

const start = (folder: string): Promise<Server> => {
  const child = fork(new URL("../src/observe/watch/process/main.ts", import.meta.url), { execArgv: [] });
  child.send({ folder, port: 0, terminal: true });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended (${code})`)));
    child.once("message", (said) => {
      const url = typeof said === "object" && said !== null && "url" in said ? String(said.url) : "";
      resolve({ child, url });
    });
  });
};

const megabytes = ({ child }: Server): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? Number.NaN) / 1_024;

/** Answers at places all over the run. */
const routes: Readonly<Record<string, (i: number) => string>> = {
  "the run": () => "",
  "a curve, 2 000 points": (i) => `/metrics?name=made%2Fm${i % 100}`,
  "five curves of 10 000 steps": (i) =>
    `/metrics?${[0, 1, 2, 3, 4].map((k) => `name=made%2Fm${(i + k) % 100}`).join("&")}&from=${i * 900}&to=${i * 900 + 10_000}`,
  "the timeline": () => "/timeline",
  "the line, newest": () => "/line",
  "the line at a moment": (i) => `/line?at=${START + ((i * 7_919) % steps) * 1_000 + 505}`,
  "200 windows": (i) => `/windows?from=${i * 900}&to=${i * 900 + 10_000}`,
  "a page of episodes": (i) => `/episodes?success=true&offset=${i * 40}`,
  "a group's records": (i) => `/groups/train/${80 * (1 + i)}/${(80 * (1 + i) - 1) * 8}`,
};

const timesOf = async (count: number, url: (i: number) => string): Promise<readonly number[]> => {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await get(url(i)));
  return times.toSorted((a, b) => a - b);
};

const answered = async ({ url }: Server): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(routes)) {
    const times = await timesOf(REPEATED, (i) => `${url}/api/runs/${id}${path(i)}`);
    figures.push(
      { name: `${name}, median`, value: quantile(times, 0.5), unit: "ms", repetitions: REPEATED },
      { name: `${name}, p99`, value: quantile(times, 0.99), unit: "ms", target: { atMost: 250 } },
    );
  }
  return figures;
};

/** A browser that asks for the live stream and reads nothing of it. */
const stuck = ({ url }: Server) => {
  const { host, hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname, () => {
    socket.write(`GET /api/runs/${id}/live HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    socket.pause();
  });
  return socket;
};

const lookedAt = async (server: Server, folder: string): Promise<readonly Figure[]> => {
  const before = megabytes(server);
  const looking = new AbortController();
  let heard = 0;
  const read = async (): Promise<void> => {
    const { body } = await fetch(`${server.url}/api/runs/${id}/live`, { signal: looking.signal });
    for await (const piece of body ?? []) heard += piece.byteLength;
  };
  const browsers = Array.from({ length: BROWSERS }, () => read().catch(() => undefined));
  const silent = stuck(server);
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i++) {
    const line = {
      step: steps + 1,
      at: START + (steps + 1) * 1_000 + i,
      _tag: "Admitted",
      group: steps * 8 + i,
      window: steps,
    };
    appendFileSync(join(folder, "events.jsonl"), `${JSON.stringify(line)}\n`);
    times.push(await get(`${server.url}/api/runs/${id}/line`));
    await sleep(EVERY_MS);
  }
  const after = megabytes(server);
  looking.abort();
  silent.destroy();
  await Promise.all(browsers);
  times.sort((a, b) => a - b);
  return [
    {
      name: `the line while ${BROWSERS + 1} browsers look, p99`,
      value: quantile(times, 0.99),
      unit: "ms",
      target: { atMost: 250 },
    },
    { name: `memory that ${BROWSERS + 1} browsers take`, value: after - before, unit: "MB", target: { atMost: 100 } },
    { name: "told to the browsers", value: heard / 2 ** 20, unit: "MB" },
  ];
};

export const bench: Bench = {
  question: "How fast does the page of a long run answer?",
  parts: [
    async () => {
      const root = mkdtempSync(join(tmpdir(), "millrace-bench-"));
      const folder = join(root, "made", "20261122-000000");
      writeRun(folder, size);
      const begun = performance.now();
      const server = await start(folder);
      try {
        await get(`${server.url}/api/runs`);
        await get(`${server.url}/api/runs/${id}/line`);
        const first = performance.now() - begun;
        await Promise.all(
          ["/timeline", "/names", "/episodes"].map((path) => get(`${server.url}/api/runs/${id}${path}`)),
        );
        const whole = performance.now() - begun;
        const figures: readonly Figure[] = [
          { name: "start to the first view of the line", value: first, unit: "ms" },
          { name: "start to the whole folder read", value: whole / 1_000, unit: "s" },
          ...(await answered(server)),
          { name: "resident memory", value: megabytes(server), unit: "MB" },
          ...(await lookedAt(server, folder)),
        ];
        return () => figures;
      } finally {
        server.child.removeAllListeners("exit").kill("SIGTERM");
        rmSync(root, { recursive: true, force: true });
      }
    },
  ],
};
