/**
 * A run made of formulas, as the server would tell of it: curves that learn, a line whose groups move, windows, a timeline and episodes. The same
 * at every call; what depends on the moment depends on the time asked for alone.
 */
import type { JudgedGroup } from "../../../../src/domain/Event.ts";
import type { Place, TrackedGroup } from "../../../../src/domain/GroupPlaces.ts";
import type {
  Comparison,
  Curves,
  EpisodeCard,
  LineView,
  Mark,
  RunCard,
  RunSummary,
  StageView,
  Timeline,
  WindowView,
} from "../../../../src/observe/watch/Api.ts";

export interface MockRun {
  readonly card: RunCard;
  readonly groups: number;
  readonly noise: number;
  readonly stepMs: number;
}

/** Texts that a hostile model, environment or folder may contain. */
export const hostile = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>`;

/** Noise between 0 and 1 of a number. */
export const noiseOf = (n: number): number => {
  const x = Math.sin(n * 12.9898 + 78.233) * 43_758.5453;
  return x - Math.floor(x);
};

const around = (n: number, width: number): number => (noiseOf(n) + noiseOf(n + 0.5) - 1) * width;

export const stepAtTime = ({ card, stepMs }: MockRun, at: number): number =>
  Math.max(0, Math.min(card.steps, Math.floor((at - card.started) / stepMs)));

const curves: Readonly<Record<string, (share: number, n: number) => number | null>> = {
  "train/success": (s, n) => Math.min(1, Math.max(0, 0.12 + 0.75 * (1 - Math.exp(-3 * s)) + around(n, 0.18))),
  "val-env/success": (s, n) =>
    n % 25 === 0 ? Math.min(1, 0.1 + 0.7 * (1 - Math.exp(-3 * s)) + around(n, 0.06)) : null,
  "train/charts/avg_episode_return": (s, n) => -0.8 + 2.4 * (1 - Math.exp(-3 * s)) + around(n, 0.5),
  "train/entropy": (s, n) => 1.9 * Math.exp(-1.6 * s) + 0.25 + around(n, 0.1),
  "train/response_length": (s, n) => 46 - 18 * s + around(n, 8),
  "rollout/filter_kept_ratio": (s, n) => Math.max(0, 0.85 - 0.45 * s + around(n, 0.2)),
  "rollout/filter_zero_count": (s, n) => Math.round(1 + 6 * s + around(n, 2)),
  "rollout/in_group_std": (s, n) => 0.9 - 0.4 * s + around(n, 0.2),
  "rollout/chosen_in_group_std": (s, n) => 1.1 - 0.2 * s + around(n, 0.2),
  "actor/pg_loss": (s, n) => 0.02 * Math.exp(-s) + around(n, 0.05),
  "actor/entropy": (s, n) => 1.8 * Math.exp(-1.6 * s) + 0.2 + around(n, 0.1),
  "actor/ppo_kl": (_, n) => 0.002 + 0.004 * noiseOf(n),
  "actor/grad_norm": (s, n) => 0.8 + 2 * noiseOf(n) ** 6 + (Math.abs(s - 0.6) < 0.003 ? 40 : 0),
  "actor/lr": () => 3e-4,
  "staleness/mean": (_, n) => 1.1 + around(n, 0.5),
  "staleness/max": (_, n) => 2 + Math.round(2 * noiseOf(n)),
  "tokens/generated_per_second": (s, n) => 2400 + 500 * s + around(n, 300),
  "tokens/trained_per_second": (s, n) => 1500 - 400 * s + around(n, 250),
  "drift/trained_length_ratio": (s, n) => 1 + 0.12 * s + around(n, 0.06),
  "timing_s/step": (_, n) => 2 + around(n, 0.3),
  "stage/rollout/busy": (_, n) => 0.8 + around(n, 0.1),
  "stage/learn/busy": (_, n) => 0.6 + around(n, 0.1),
};

export const namesOf = (): readonly string[] => Object.keys(curves);

export const metricOf = (run: MockRun, name: string, step: number): number | null => {
  const value = curves[name]?.(step / run.card.steps, step + run.card.seed * 1000);
  return value === undefined || value === null ? null : value * (1 + run.noise);
};

export const curvesOf = (run: MockRun, names: readonly string[], from: number, to: number, points: number): Curves => {
  const length = Math.max(0, to - from + 1);
  const buckets = Math.min(length, points);
  const edges = Array.from(
    { length: buckets },
    (_, i) => [from + Math.floor((i * length) / buckets), from + Math.floor(((i + 1) * length) / buckets) - 1] as const,
  );
  const available = names.filter((name) => name in curves);
  const series = available.map((name) => {
    const cells = edges.map(([a, b]) =>
      Array.from({ length: b - a + 1 }, (_, i) => metricOf(run, name, a + i)).filter((value) => value !== null),
    );
    const summarise = (f: (values: readonly number[]) => number) =>
      cells.map((cell) => (cell.length === 0 ? null : f(cell)));
    return {
      name,
      mean: summarise((values) => values.reduce((sum, value) => sum + value, 0) / values.length),
      min: summarise((values) => Math.min(...values)),
      max: summarise((values) => Math.max(...values)),
    };
  });
  return {
    steps: edges.map(([, b]) => b),
    times: edges.map(([, b]) => run.card.started + b * run.stepMs),
    series,
  };
};

/** Validated every 100 steps, of 512 instances. */
export const summaryOf = (run: MockRun): RunSummary => {
  const at = (step: number) => {
    const success = metricOf(run, "val-env/success", step) ?? 0;
    const interval = [Math.max(0, success - 0.04), Math.min(1, success + 0.04)] as const;
    return { step, success, interval, instances: 512, episodes: 512, failed: 0 };
  };
  const { step, steps } = run.card;
  const last = Math.floor(step / 100) * 100;
  return {
    kind: "training",
    steps: { done: step, planned: steps },
    minutes: (step * run.stepMs) / 60_000,
    validation: { before: at(0), best: last === 0 ? at(0) : at(last), last: last === 0 ? null : at(last) },
    failedShare: 0,
    checkpoint: { newest: last === 0 ? null : last, best: null },
    folder: `runs/${run.card.id}`,
  };
};

export const comparisonOf = (runs: readonly MockRun[]): Comparison => ({
  summaries: Object.fromEntries(runs.map((run) => [run.card.id, summaryOf(run)])),
  settings: Object.fromEntries(
    runs.map(({ card, groups }) => [
      card.id,
      { "es_manager.train.env_groups": String(groups), "pipeline.mode": card.mode, "run.seed": String(card.seed) },
    ]),
  ),
});

const judgedOf = (run: MockRun, window: number): readonly JudgedGroup[] => {
  const share = window / run.card.steps;
  const first = window * run.groups;
  const raw = Array.from({ length: run.groups }, (_, i) => {
    const n = first + i;
    const zero = noiseOf(n * 3) < 0.08 + 0.45 * share;
    return {
      group: n,
      score: zero ? 0 : 0.15 + 1.3 * noiseOf(n * 7),
      reward: around(n * 5, 1.5) + 2 * share,
      failed: noiseOf(n * 11) > 0.985,
    };
  });
  const ranked = raw.filter(({ failed, score }) => !failed && score > 0).toSorted((a, b) => b.score - a.score);
  const kept = new Set(ranked.slice(0, Math.ceil(ranked.length * 0.75)).map(({ group }) => group));
  return raw.map(({ failed, group, reward, score }) =>
    failed
      ? { group, verdict: "failed", reward: 0 }
      : { group, verdict: kept.has(group) ? "kept" : score === 0 ? "zero" : "rule", score, reward },
  );
};

export const windowOf = (run: MockRun, step: number): WindowView => {
  const groups = judgedOf(run, step - 1);
  const kept = groups.filter(({ verdict }) => verdict === "kept").map(({ score }) => score ?? 0);
  return {
    window: step - 1,
    step,
    at: run.card.started + step * run.stepMs,
    groups,
    cut: kept.length === 0 ? null : Math.min(...kept),
  };
};

/** When a group enters each place, against the close of its window's step, in steps. */
const schedule = (group: number): readonly (readonly [Place, number])[] => [
  ["rollout", -3.4 + 0.9 * noiseOf(group)],
  ["window", -1.7 + 0.55 * noiseOf(group * 2)],
  ["score", -1.05],
  ["filter", -1],
  ["learn", -0.95],
  ["close", -0.12],
];

const groupsAt = (run: MockRun, at: number): readonly TrackedGroup[] => {
  const step = (at - run.card.started) / run.stepMs;
  const first = Math.max(1, Math.floor(step));
  const windows = [0, 1, 2, 3, 4].map((i) => first + i).filter((closing) => closing <= run.card.steps);
  return windows.flatMap((closing) =>
    judgedOf(run, closing - 1).flatMap(({ group, verdict }): readonly TrackedGroup[] => {
      const times = schedule(group).map(([place, when]) => [place, closing + when] as const);
      const now = times.filter(([, when]) => when <= step).at(-1);
      if (now === undefined || step >= closing) return [];
      const [place, since] = now;
      const time = (value: number): number => Math.round(run.card.started + value * run.stepMs);
      const decided = place === "learn" || place === "close" || (verdict === "failed" && place !== "rollout");
      return [
        {
          group,
          window: closing - 1,
          place,
          since: time(since),
          admitted: time(times[0]![1]),
          ...(decided ? { verdict } : {}),
        },
      ];
    }),
  );
};

interface Shape {
  readonly name: string;
  readonly kind: StageView["kind"];
  readonly concurrency: number;
  readonly capacity: number;
  readonly busy: number;
  readonly blocked: number;
  readonly adjustable: boolean;
  readonly serviceMs: number;
}

const shapes: readonly Shape[] = [
  {
    name: "rollout",
    kind: "flow",
    concurrency: 16,
    capacity: 4,
    busy: 0.86,
    blocked: 0.04,
    adjustable: true,
    serviceMs: 3400,
  },
  {
    name: "window",
    kind: "flow",
    concurrency: 1,
    capacity: 16,
    busy: 0.02,
    blocked: 0.21,
    adjustable: false,
    serviceMs: 0.4,
  },
  {
    name: "score",
    kind: "flow",
    concurrency: 2,
    capacity: 2,
    busy: 0.05,
    blocked: 0.01,
    adjustable: true,
    serviceMs: 12,
  },
  {
    name: "filter",
    kind: "flow",
    concurrency: 1,
    capacity: 1,
    busy: 0.01,
    blocked: 0.3,
    adjustable: false,
    serviceMs: 1.2,
  },
  {
    name: "learn",
    kind: "flow",
    concurrency: 1,
    capacity: 1,
    busy: 0.81,
    blocked: 0,
    adjustable: false,
    serviceMs: 1640,
  },
  {
    name: "close",
    kind: "flow",
    concurrency: 1,
    capacity: 1,
    busy: 0.04,
    blocked: 0,
    adjustable: false,
    serviceMs: 31,
  },
  {
    name: "generate",
    kind: "service",
    concurrency: 32,
    capacity: 0,
    busy: 0.93,
    blocked: 0,
    adjustable: true,
    serviceMs: 218,
  },
  {
    name: "step",
    kind: "service",
    concurrency: 8,
    capacity: 0,
    busy: 0.12,
    blocked: 0,
    adjustable: true,
    serviceMs: 2.1,
  },
];

const stageAt = (run: MockRun, shape: Shape, at: number, slots: ReadonlyMap<string, number>): StageView => {
  const n = Math.floor(at / 500) + shape.name.length * 17;
  const concurrency = slots.get(shape.name) ?? shape.concurrency;
  const busy = Math.min(1, Math.max(0, shape.busy + around(n, 0.05)));
  const blocked = Math.min(1 - busy, shape.blocked);
  const running = Math.min(concurrency, Math.round(busy * concurrency));
  return {
    name: shape.name,
    kind: shape.kind,
    concurrency,
    adjustable: shape.adjustable,
    capacity: shape.capacity,
    running,
    blocked: Math.min(concurrency - running, Math.round(blocked * concurrency)),
    queue: shape.capacity > 0 ? Math.floor(noiseOf(n) * (shape.capacity + 1)) : Math.floor(noiseOf(n) * 20),
    items: stepAtTime(run, at) * (shape.name === "rollout" ? run.groups : 1),
    shares: { busy, blocked, starved: 1 - busy - blocked },
    waitMs: shape.serviceMs * noiseOf(n + 3),
    serviceMs: shape.serviceMs * (0.9 + 0.2 * noiseOf(n + 5)),
  };
};

export interface LineState {
  readonly slots: ReadonlyMap<string, number>;
  readonly paused: boolean;
}

export const lineAt = (run: MockRun, at: number, { paused, slots }: LineState): LineView => {
  const step = stepAtTime(run, at);
  const closedAt = run.card.started + step * run.stepMs;
  const validating = step > 0 && step % 25 === 0 && at - closedAt < run.stepMs / 2;
  const adopted = Math.max(0, step - (at - closedAt < run.stepMs / 4 ? 1 : 0));
  return {
    at,
    step,
    version: step,
    adopted,
    paused,
    validating: validating ? { step, done: Math.floor(((at - closedAt) / run.stepMs) * 128), of: 64 } : null,
    stages: shapes.map((shape) => stageAt(run, shape, at, slots)),
    settings: [{ name: "lanes", concurrency: slots.get("lanes") ?? 2, most: 2 }],
    servers: [
      { role: "generator", name: "http://127.0.0.1:8000", state: { _tag: "Up" } },
      {
        role: "generator",
        name: "http://127.0.0.1:8001",
        state: {
          _tag: "Retrying",
          since: at - 12_000,
          attempt: 3,
          nextAt: at + 4_000,
          why: "the connection is refused",
        },
      },
      { role: "worker", name: `w1 ${hostile}`, state: { _tag: "Lost", since: at - 90_000, why: "its lease ended" } },
    ],
    groups: groupsAt(run, at),
    tokensPerSecond: { generated: 2400 + around(at / 1000, 200), trained: 1500 + around(at / 900, 200) },
    bottleneck: {
      stage: "rollout",
      since: run.card.started + Math.floor(step / 40) * 40 * run.stepMs,
      limit: "slots",
      gain: 0.062,
      because: "Its slots are busy 86 % of the time while learn waits for windows 19 % of it.",
    },
    staleness: step === 0 ? [] : [1400 + 10 * (step % 7), 3100, 900, 210, 14],
    adoptions: Array.from({ length: Math.min(20, adopted) }, (_, i) => {
      const version = adopted - Math.min(20, adopted) + 1 + i;
      return { version, at: run.card.started + version * run.stepMs + 120 };
    }),
    process: {
      cpu: 1.82 + around(at / 700, 0.1),
      rssBytes: 612e6 + 1e5 * step,
      loopLagMs: 2.4 + 4 * noiseOf(Math.floor(at / 1000)),
    },
  };
};

export const timelineOf = (run: MockRun, points: number): Timeline => {
  const { started, step, steps } = run.card;
  const count = Math.min(points, step);
  const time = (step: number): number => started + step * run.stepMs;
  const closes = Array.from({ length: count }, (_, i) => Math.max(1, Math.round(((i + 1) * step) / count)));
  const marks: Mark[] = [];
  for (let at = 25; at <= step; at += 25)
    marks.push({
      at: time(at) + 500,
      step: at,
      kind: "validation",
      text: `validation: ${(0.1 + (0.7 * at) / steps).toFixed(2)} success`,
    });
  for (let at = 100; at <= step; at += 100)
    marks.push({ at: time(at) + 700, step: at, kind: "checkpoint", text: `checkpoints/step-${at}` });
  if (step >= 140)
    marks.push({
      at: time(140),
      step: 140,
      kind: "control",
      text: `rollout: 16 slots, by the page ${hostile}`,
      control: { _tag: "SetConcurrency", stage: "rollout", concurrency: 16 },
      by: "page",
    });
  if (step >= 210) marks.push({ at: time(210) + 100, step: 210, kind: "stall", text: "nothing happened for 30 s" });
  return { from: started, to: run.card.last, steps: closes.map((step) => ({ step, at: time(step) })), marks };
};

export const episodesOf = (run: MockRun, from: number, to: number): readonly EpisodeCard[] => {
  const recorded = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => to - i).filter(
    (step) => step % 5 === 0 && step > 0,
  );
  return recorded.flatMap((step) =>
    windowOf(run, step)
      .groups.slice(0, 4)
      .flatMap(({ group, reward, verdict }) =>
        [0, 1, 2, 3].map((member) => ({
          step,
          split: "train" as const,
          group,
          member,
          tag: "SimpleSokoban",
          seed: group,
          success: noiseOf(group + member) < 0.5,
          reward,
          verdict,
          turns: 3,
          tokens: 90,
          outcome: member === 3 ? hostile : "Done",
        })),
      ),
  );
};
