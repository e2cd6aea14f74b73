/**
 * The service times of a machine, fitted to short real runs. In some, generation and updates take turns, so that each is seen alone; in
 * others they go on together. Other processes make things slower and never faster, so on a disturbed machine the quicker windows count.
 */
import { mean } from "../../domain/Statistics.ts";
import type { Slowdown } from "../simulation/Cores.ts";
import type { ConsumedWindow } from "../simulation/replay/Consumed.ts";
import type { Machine } from "../simulation/replay/Machine.ts";
import type { PlayedGroup } from "../simulation/replay/Played.ts";
import { run, type Settings } from "../simulation/replay/Training.ts";
import { lanesUsed, longest, stepsOf } from "../simulation/replay/Update.ts";
import { type Equation, leastSquares } from "./leastSquares.ts";
import { disturbance, type ObservedRun, type ObservedWindow } from "./ObservedRun.ts";
import { settled, type Workload, workOf } from "./Predict.ts";

export interface Probes {
  readonly cores: number;
  /** Runs in which generation and updates take turns, at least one with one generator thread. */
  readonly alone: readonly ObservedRun[];
  /** Runs in which they go on together, under the settings of the run file. */
  readonly together: readonly ObservedRun[];
}

/** A prompt token takes this much of the time of a sampled one: prompts are computed many tokens at once. */
const promptShare = 0.5;

/** The value that stands for several; undefined without any. */
type Typical = (values: readonly number[]) => number | undefined;

/** Cores that other processes may take on a quiet machine. */
const quiet = 0.1;

/** The middle value on a quiet machine; on another one, the value that a quarter of them lie below. */
const typicalOf = ({ alone, together }: Probes): Typical => {
  const share = disturbance([...alone, ...together]) <= quiet ? 1 / 2 : 1 / 4;
  return (values) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)];
};

const windowsOf = (runs: readonly ObservedRun[]): readonly ObservedWindow[] => runs.flatMap(({ windows }) => windows);

const typicalIn = (
  typical: Typical,
  runs: readonly ObservedRun[],
  part: (window: ObservedWindow) => number,
): number | undefined => typical(windowsOf(runs).map(part).filter(Number.isFinite));

const ofParts = (parts: readonly number[], factors: readonly number[]): number =>
  parts.reduce((sum, part, i) => sum + part * factors[i]!, 0);

/** Fits again without equations that took much longer than the others say, since something else ran then. */
const withoutDisturbed = (equations: readonly Equation[], count: number): readonly number[] => {
  let used = equations;
  for (let round = 0; ; round++) {
    const factors = leastSquares(used, count);
    const left = used.filter(({ parts, value }) => value < 1.15 * ofParts(parts, factors));
    if (round === 3 || left.length === used.length || left.length <= count) return factors;
    used = left;
  }
};

const computed = ({ meanwhile: { prefilled, sampled } }: ObservedWindow): number => sampled + promptShare * prefilled;

const perToken = ({ learning, tokens }: { readonly learning: number; readonly tokens: number }): number =>
  learning / tokens;

/** The value that most runs have of a setting. */
const usual = (runs: readonly ObservedRun[], part: (run: ObservedRun) => number): number => {
  const values = runs.map(part);
  const count = (value: number) => values.filter((other) => other === value).length;
  return values.reduce((best, value) => (count(value) > count(best) ? value : best), values[0] ?? 0);
};

/** One window of a run, with its own groups. */
interface WindowSample {
  readonly window: ObservedWindow;
  readonly groups: readonly PlayedGroup[];
  readonly settings: Settings;
}

const samplesOf = ({ groups, settings, windows }: ObservedRun): readonly WindowSample[] => {
  const size = groups.length / windows.length;
  return windows.map((window, i) => ({
    window,
    settings,
    groups: groups.slice(Math.floor(i * size), Math.ceil((i + 1) * size)),
  }));
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Cuts the update of a window: lanes that had something to do, and padded tokens of the one that was done last and of all. */
const cutOf = ({ groups, settings: { lanes, microBatchTokens } }: WindowSample, miniBatch: number) => {
  const steps = stepsOf(
    groups.filter(({ kept }) => kept),
    { miniBatch, microBatchTokens },
  );
  return {
    lanes: Math.max(1, ...steps.map((step) => lanesUsed(lanes, step))),
    longest: sum(steps.map((step) => longest(step, lanes))),
    all: sum(steps.map(sum)),
  };
};

const updateTimes = (typical: Typical, runs: readonly ObservedRun[], miniBatch: number): Machine["update"] => {
  const micro = usual(runs, ({ settings }) => settings.microBatchTokens);
  const updates = runs.flatMap(samplesOf).flatMap((one) => {
    const { lanes, longest } = cutOf(one, miniBatch);
    return longest === 0 ? [] : [{ lanes, size: one.settings.microBatchTokens, time: one.window.learning / longest }];
  });
  const typicalTime = (lanes: number, size: number) =>
    typical(updates.filter((one) => one.lanes === lanes && one.size === size).map(({ time }) => time));
  const counts = [...new Set(updates.map(({ lanes }) => lanes))].sort((a, b) => a - b);
  const measured = counts.flatMap((count) => {
    const time = typicalTime(count, micro);
    return time === undefined ? [] : [[count, time] as const];
  });
  const [, single = 1] = measured[0] ?? [];
  const lanes = new Map(measured.map(([count, time]) => [count, time / single]));
  const token = new Map(
    [...new Set(updates.map(({ size }) => size))].flatMap((size) => {
      const times = counts.flatMap((count) => {
        const [time, factor] = [typicalTime(count, size), lanes.get(count)];
        return time === undefined || factor === undefined ? [] : [time / factor];
      });
      const time = typical(times);
      return time === undefined ? [] : [[size, time] as const];
    }),
  );
  return { token, lanes };
};

/** Share of a step's time in which it computes, by what the process computed beside its other threads. */
const stepComputes = (runs: readonly ObservedRun[], miniBatch: number): number => {
  const each = runs.flatMap(samplesOf).map((one) => {
    const { all, longest } = cutOf(one, miniBatch);
    const { learning, meanwhile } = one.window;
    const lanes = longest === 0 ? 0 : (learning * all) / longest;
    return { left: meanwhile.computing - meanwhile.main - meanwhile.generating - lanes, stepping: meanwhile.stepping };
  });
  const stepping = sum(each.map((window) => window.stepping));
  return stepping === 0 ? 1 : Math.min(1, Math.max(0, sum(each.map(({ left }) => left))) / stepping);
};

const promptTokens = (groups: readonly PlayedGroup[]): number =>
  groups.flatMap(({ episodes }) => episodes.flat()).reduce((sum, { prompt }) => sum + prompt, 0);

/** Prompt tokens that were computed, over all that were shown. */
const fedShare = (runs: readonly ObservedRun[]): number => {
  const shown = runs.reduce((sum, { groups }) => sum + promptTokens(groups), 0);
  const fed = windowsOf(runs).reduce((sum, { meanwhile }) => sum + meanwhile.prefilled, 0);
  return shown === 0 ? 1 : Math.min(1, fed / shown);
};

const none: Slowdown = { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 };

/** The groups of a run, played again by the machine in the same windows. */
const replay = (machine: Machine, { groups, settings, windows }: ObservedRun, workload: Workload) =>
  run(machine, settings, workOf({ ...workload, playedGroups: groups }, machine), windows.length);

/** The windows of runs in which generation and updates took turns, each played again by itself. */
const replayEach = (machine: Machine, runs: readonly ObservedRun[], workload: Workload) =>
  runs.flatMap(samplesOf).flatMap(({ groups, settings, window }) => {
    const limited = { ...settings, slots: Math.max(1, Math.round(window.replies / settings.generatorThreads)) };
    const again = run(machine, limited, workOf({ ...workload, playedGroups: groups }, machine), 1);
    return again.map((replayed) => ({ observed: window, replayed }));
  });

const partsOf = (decodeSteps: number, sampled: number, window: ObservedWindow): readonly number[] => [
  decodeSteps,
  computed(window),
  sampled ** 2 / decodeSteps,
];

const refinements = 4;

/**
 * The machine with the decode steps of one generator thread alone. An equation takes all steps of a window to have the same rows, with
 * nothing beside them. The error of this shows when the window is played again, and is taken off the measured time.
 */
const withGeneration = (machine: Machine, runs: readonly ObservedRun[], workload: Workload): Machine => {
  const windows = windowsOf(runs).filter(({ meanwhile }) => meanwhile.decodeSteps > 0);
  const factorsOf = (beyond: ReadonlyMap<ObservedWindow, number>) => {
    const equations = windows.map((window) => {
      const { decodeSteps, generating, sampled } = window.meanwhile;
      return { parts: partsOf(decodeSteps, sampled, window), value: generating / (beyond.get(window) ?? 1) };
    });
    return withoutDisturbed(equations, 3);
  };
  const withFactors = ([step = 0, row = 0, crowding = 0]: readonly number[]): Machine => ({
    ...machine,
    decode: { step, row, crowding },
    prefill: { step: 0, token: promptShare * row },
  });
  let factors = factorsOf(new Map());
  for (let round = 0; round < refinements; round++) {
    const again = replayEach(withFactors(factors), runs, workload);
    const beyond = again.map(({ observed, replayed: { decodeSteps, generated, generating } }) => {
      const expected = ofParts(partsOf(decodeSteps, generated, observed), factors);
      return [observed, expected > 0 ? generating / expected : 1] as const;
    });
    factors = factorsOf(new Map(beyond));
  }
  return withFactors(factors);
};

/**
 * The rest of a window's time when all known parts are taken off. Windows that let in fewer replies are left out, since they differ in more
 * than the limit of slots.
 */
const windowTime = (typical: Typical, machine: Machine, runs: readonly ObservedRun[], workload: Workload): number => {
  const left = runs.flatMap((one) => {
    const most = Math.max(...one.windows.map(({ replies }) => replies));
    const whole = replayEach(machine, [one], workload).filter(({ observed }) => observed.replies === most);
    return whole.map(({ observed, replayed }) => observed.time - replayed.at);
  });
  return Math.max(0, typical(left) ?? 0);
};

/** The time that keeps the learner from its next window. It is at most what windows leave beside their update while generation goes on. */
const handoverOf = (typical: Typical, window: number, together: readonly ObservedRun[]): number =>
  together.reduce((least, { windows }) => {
    const left = typical(windows.map(({ learning, time }) => time - learning).filter(Number.isFinite));
    return left === undefined ? least : Math.min(least, Math.max(0, left));
  }, window);

/** The share by which the windows of one run lie above those of another; 0 where one has none. */
const excess = (typical: Typical, observed: readonly number[], replayed: readonly number[]): number => {
  const [a, b] = [typical(observed.filter(Number.isFinite)), typical(replayed.filter(Number.isFinite))];
  return a === undefined || b === undefined || b === 0 ? 0 : a / b - 1;
};

const rounds = 10;
const windows = 12;

const perSampled = ({ meanwhile: { generating, sampled } }: ObservedWindow): number => generating / sampled;

const perGenerated = ({ generated, generating }: ConsumedWindow): number => generating / generated;

/** The share by which generator threads took longer than the machine says. */
const generatorExcess = (typical: Typical, observed: ObservedRun, replayed: readonly ConsumedWindow[]): number =>
  excess(typical, observed.windows.map(perSampled), replayed.map(perGenerated));

/** Fits how much threads slow each other down: it changes until virtual time agrees with the runs that had them together. */
const slowdownOf = (typical: Typical, machine: Machine, { alone, together }: Probes, workload: Workload): Slowdown => {
  const threads = alone.filter(({ settings }) => settings.generatorThreads > 1);
  const within = (value: number) => Math.min(2, Math.max(-0.3, value));
  let slowdown = machine.slowdown;
  for (let round = 0; round < rounds; round++) {
    const now: Machine = { ...machine, slowdown };
    const several = threads.map((observed) => generatorExcess(typical, observed, replay(now, observed, workload)));
    const pairs = together.map((observed) => {
      const replayed = settled(now, observed.settings, workload, windows).windows;
      return {
        lanes: excess(typical, observed.windows.map(perToken), replayed.map(perToken)),
        generators: generatorExcess(typical, observed, replayed),
      };
    });
    slowdown = {
      generatorByGenerator: within(slowdown.generatorByGenerator + 0.8 * mean(several)),
      generatorByLane: within(slowdown.generatorByLane + 0.6 * mean(pairs.map(({ generators }) => generators))),
      laneByGenerator: within(slowdown.laneByGenerator + 0.8 * mean(pairs.map(({ lanes }) => lanes))),
    };
  }
  return slowdown;
};

/** The machine that the probes saw. */
export const machineOf = (probes: Probes, workload: Workload): Machine => {
  const { alone, cores } = probes;
  const typical = typicalOf(probes);
  const single = alone.filter(({ settings }) => settings.generatorThreads === 1);
  const idle: Machine = {
    cores,
    decode: { step: 0, row: 0, crowding: 0 },
    prefill: { step: 0, token: 0 },
    fedShare: fedShare(alone),
    turn: typicalIn(typical, alone, ({ meanwhile }) => meanwhile.main / meanwhile.turns) ?? 0,
    steps: alone.some(({ steps }) => steps.length > 0) ? alone.flatMap(({ steps }) => steps) : [0],
    stepComputes: stepComputes(alone, workload.miniBatch),
    update: updateTimes(typical, alone, workload.miniBatch),
    window: 0,
    handover: 0,
    slowdown: none,
  };
  const generating = withGeneration(idle, single.length > 0 ? single : alone, workload);
  const window = windowTime(typical, generating, single, workload);
  const whole = { ...generating, window, handover: handoverOf(typical, window, probes.together) };
  return { ...whole, slowdown: slowdownOf(typical, whole, probes, workload) };
};
