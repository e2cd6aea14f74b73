/** The servers that a run sends to may fail in any way: the run and the other sinks do not notice. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, type Scope } from "effect";
import { beforeAll, expect } from "vitest";
import { collector } from "../observe/sinks/otlp/collector.ts";
import * as Recorded from "../observe/sinks/recorded.ts";
import { check } from "../observe/sinks/trace/checker.ts";
import { KEY } from "../observe/sinks/wandb/support.ts";
import type { Fault } from "./faultyDisk.ts";
import * as Strangers from "./strangers.ts";
import { survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const steps = 12;
const all = Array.from({ length: steps + 1 }, (_, step) => step);

const collectorKey = "a-collectors-secret-key";
const variables = { WANDB_API_KEY: KEY, OTEL_EXPORTER_OTLP_HEADERS: `x-key=${collectorKey}` };
/** As they are, and as they go over the wire. */
const secrets = [KEY, Buffer.from(`api:${KEY}`).toString("base64"), collectorKey];

const sinks = ["wandb", "tensorboard", "events.jsonl", "trace.json"] as const;
type SinkName = (typeof sinks)[number];

/** The addresses that a trial's run sends to. */
interface Places {
  readonly wandb: string;
  readonly otlp: string;
  readonly prometheus: number;
}

const trialOf = ({ otlp, prometheus, wandb }: Places) =>
  Trial.make({
    trainer: { total_training_steps: steps },
    metrics: {
      sinks: ["console", "jsonl", "wandb", "tensorboard", "otlp", "prometheus"],
      sample_ms: 100,
      trace: true,
      wandb: { mode: "online", base_url: wandb },
      otlp: { endpoint: otlp },
      prometheus: { port: prometheus },
    },
  });

/** All files below a folder, with their bytes. */
const filesBelow = (folder: string): readonly (readonly [string, Buffer])[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => [join(parentPath, name), readFileSync(join(parentPath, name))] as const);

const expectNowhere = (hidden: readonly string[], trial: Trial.Trial, { stderr, stdout }: Trial.Ended): void => {
  const places = [
    ...filesBelow(trial.dir),
    ["stdout", Buffer.from(stdout)] as const,
    ["stderr", Buffer.from(stderr)] as const,
  ];
  const found = places.filter(([, bytes]) => hidden.some((secret) => bytes.includes(secret))).map(([name]) => name);
  expect(found).toEqual([]);
};

const eventsOf = (folder: string) => Trial.linesOf(join(folder, "events.jsonl"));

/** Throws unless the sink has recorded every step once. */
const whole: Readonly<Record<SinkName, (folder: string) => Promise<void>>> = {
  wandb: async (folder) => expect([...(await Recorded.ofWandb(folder)).keys()]).toEqual(all),
  tensorboard: async (folder) => expect([...Recorded.ofTensorBoard(folder).keys()]).toEqual(all),
  "events.jsonl": async (folder) => {
    const closed = eventsOf(folder).filter(({ _tag }) => _tag === "StepClosed");
    expect(closed.map(({ step }) => step)).toEqual(all.slice(1));
    expect(eventsOf(folder).at(-1)).toMatchObject({ _tag: "End", outcome: "completed" });
  },
  "trace.json": async (folder) => {
    const spans = check(readFileSync(join(folder, "trace.json"), "utf8"));
    expect(spans).toMatchObject({ update: steps, close: steps });
  },
};

/** The lines of standard error but for the address of Prometheus. */
const warningsOf = ({ stderr }: Trial.Ended): readonly string[] =>
  stderr.split("\n").filter((line) => line !== "" && !line.startsWith("prometheus: http://127.0.0.1:"));

interface Trouble {
  /** Matches the warning; null where nothing is wrong. */
  readonly warning: RegExp | null;
  /** Warnings, at least and at most. */
  readonly least: number;
  readonly most: number;
  /** The time that the documents allow the end of the run to wait. */
  readonly deadlineMs: number;
  /** The sink that is not whole. */
  readonly broken?: SinkName;
}

/** The time of a run that nothing disturbed. */
let usualMs = 0;

/** With room for a machine that does other things meanwhile: what is to be seen here is a run that waits. */
const longestMs = (deadlineMs: number): number => 3 * usualMs + deadlineMs + 10_000;

/** The shortest time for which a sink waits for an answer, that of OpenTelemetry; a step takes a small part of it. */
const patienceMs = 3_000;

/** Expects that no step waited for what a sink waits for. */
const expectSteady = (folder: string): void => {
  const times = Trial.linesOf(join(folder, "metrics.jsonl")).map(({ time }) => Number(time));
  for (const [at, time] of times.slice(1).entries()) expect(time - times[at]!).toBeLessThan(patienceMs);
};

const expectUnmoved = Effect.fnUntraced(function* (trial: Trial.Trial, ended: Trial.Ended, trouble: Trouble) {
  const warnings = warningsOf(ended);
  expect([ended.code, ended.signal, warnings.length]).toEqual([0, null, expect.any(Number)]);
  for (const warning of warnings) expect(warning).toMatch(trouble.warning ?? /^none$/);
  expect(warnings.length).toBeGreaterThanOrEqual(trouble.least);
  expect(warnings.length).toBeLessThanOrEqual(trouble.most);
  const folder = trial.folder() ?? "";
  survived(folder, steps);
  expectSteady(folder);
  for (const sink of sinks) if (sink !== trouble.broken) yield* Effect.promise(() => whole[sink](folder));
  expect(ended.ms).toBeLessThan(longestMs(trouble.deadlineMs));
  expectNowhere(secrets, trial, ended);
});

/** Steps that arrived at the collector last. */
const exported = (posted: readonly { readonly path: string; readonly body: string }[]): number | undefined =>
  Recorded.ofOtlp(posted.filter(({ path }) => path === "/v1/metrics").at(-1)?.body ?? "").get("millrace.run.step{}");

interface Disturbed {
  readonly places?: Partial<Places>;
  readonly fault?: (trial: Trial.Trial) => Fault;
  readonly during?: (run: Trial.Started) => Effect.Effect<void>;
}

/** A run whose servers all work, but for what disturbs it. */
const disturbed = Effect.fnUntraced(function* ({ during, fault, places = {} }: Disturbed, trouble: Trouble) {
  const { standIn, url } = yield* Strangers.wandb;
  const { endpoint, posted } = yield* collector();
  const trial = yield* trialOf({ wandb: url, otlp: endpoint, prometheus: 0, ...places });
  const run = yield* Trial.millrace(trial.fresh, fault?.(trial), variables);
  yield* during?.(run) ?? Effect.void;
  const ended = yield* Effect.promise(() => run.ended);
  yield* expectUnmoved(trial, ended, trouble);
  if (places.wandb === undefined && trouble.broken !== "wandb") {
    expect([standIn.wrong, standIn.history, standIn.exitCode]).toEqual([[], all, 0]);
  }
  if (places.otlp === undefined) expect(exported(posted)).toBe(steps);
  return { ended, trial };
});

const quiet: Trouble = { warning: null, least: 0, most: 0, deadlineMs: 0 };

beforeAll(async () => {
  usualMs = Number.POSITIVE_INFINITY;
  const { ended } = await Effect.runPromise(Effect.scoped(disturbed({}, quiet)));
  usualMs = ended.ms;
}, 120_000);

type Url = Effect.Effect<string, never, Scope.Scope>;

describe("a server of Weights & Biases", () => {
  /** One line when it begins, one at the end that says how to send the rest. */
  const trouble: Trouble = {
    warning: /^warning: Weights & Biases: .*(the run goes on|wandb sync)/,
    least: 1,
    most: 2,
    deadlineMs: 7_000,
  };
  const kinds: readonly (readonly [string, Url])[] = [
    ["hangs from the start", Strangers.hanging],
    ["answers 500", Strangers.failing],
    ["accepts and never reads", Strangers.deaf],
  ];
  it.live.each(kinds)("that %s costs the run nothing", ([, server]) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* disturbed({ places: { wandb: yield* server } }, trouble);
      }),
    ),
  );

  it.live("that is slow costs the run nothing; what it has not taken by the end is said", () =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* disturbed({ places: { wandb: yield* Strangers.slow } }, { ...trouble, least: 0, most: 1 });
      }),
    ),
  );

  it.live("that disappears half way costs the run nothing", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { child, url } = yield* Strangers.mortal;
        const kill = (run: Trial.Started) => Effect.map(Trial.said(run, "step  6/"), () => void child.kill("SIGKILL"));
        yield* disturbed({ places: { wandb: url }, during: kill }, trouble);
      }),
    ),
  );
});

describe("a collector", () => {
  /** The traces and the metrics may take two seconds each. */
  const trouble: Trouble = { warning: null, least: 0, most: 0, deadlineMs: 4_000 };
  const kinds: readonly (readonly [string, Url])[] = [
    ["hangs", Strangers.hanging],
    ["answers 500", Strangers.failing],
    ["refuses", Strangers.nobody],
  ];
  it.live.each(kinds)("that %s costs the run nothing, and says nothing", ([, server]) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* disturbed({ places: { otlp: yield* server } }, trouble);
      }),
    ),
  );
});

describe("a port for Prometheus", () => {
  it.live("that is taken costs the sink, with one warning", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const warning = /^warning: prometheus is switched off: port \d+ of 127\.0\.0\.1 is taken/;
        yield* disturbed(
          { places: { prometheus: yield* Strangers.takenPort } },
          { ...quiet, warning, least: 1, most: 1 },
        );
      }),
    ),
  );
});

describe("a disk that is full", () => {
  it.live.each(sinks)("under %s costs that sink, with one warning", (broken) =>
    Effect.scoped(
      Effect.gen(function* () {
        // Late enough that the sink is open, and long before it is done.
        const fault = (trial: Trial.Trial): Fault => ({ under: trial.dir, only: `/${broken}`, fullFrom: 12 });
        const warning = new RegExp(`^warning: ${broken} is switched off: .*ENOSPC`);
        yield* disturbed({ fault }, { warning, least: 1, most: 1, deadlineMs: 0, broken });
      }),
    ),
  );
});

/** A browser that listens to the run behind a page; what it has heard. */
const browser = (page: URL, id: string, reads: boolean) => {
  let text = "";
  const socket: Socket = connect(Number(page.port), page.hostname);
  if (reads)
    socket.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
  else socket.pause();
  const closed = new Promise<void>((resolve) => socket.on("error", () => undefined).on("close", () => resolve()));
  socket.write(`GET /api/runs/${encodeURIComponent(id)}/live HTTP/1.1\r\nhost: ${page.host}\r\n\r\n`);
  return { heard: () => text, socket, closed };
};

describe("fifty browsers, and one that stops reading", () => {
  it.live("look at a run that does not notice; the page's token is nowhere but in its file", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make({ trainer: { total_training_steps: steps }, metrics: { sample_ms: 100 } });
        const run = yield* Trial.millrace([...trial.fresh, "--watch", "0"], undefined, { MILLRACE_TOKEN: "" });
        let printed = "";
        run.child.stdout?.on("data", (part) => {
          printed += part;
        });
        yield* Trial.said(run, "the token for controls");
        const [, url = "", file = ""] = /page: (\S+); the token for controls is in (\S+)/.exec(printed) ?? [];
        const token = readFileSync(file, "utf8").trim();
        expect(token).toMatch(/^[\w-]{43}$/);
        const id = (trial.folder() ?? "").split("/").slice(-2).join("/");
        const page = new URL(url);
        const readers = Array.from({ length: 50 }, () => browser(page, id, true));
        const stuck = browser(page, id, false);
        const ended = yield* Effect.promise(() => run.ended);
        stuck.socket.destroy();
        yield* Effect.promise(() => Promise.all(readers.map(({ closed }) => closed)));
        expect(ended).toMatchObject({ code: 0, signal: null, stderr: "" });
        survived(trial.folder() ?? "", steps);
        expectSteady(trial.folder() ?? "");
        for (const { heard } of readers) {
          expect(heard()).toMatch(/^HTTP\/1\.1 200 /);
          expect(heard()).toContain("event: line\n");
          expect(heard()).toContain("event: step\n");
          expect(heard()).not.toContain(token);
        }
        expect(ended.ms).toBeLessThan(longestMs(0));
        expectNowhere([token], trial, ended);
        expect(existsSync(file)).toBe(false);
      }),
    ),
  );
});
