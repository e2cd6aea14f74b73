/**
 * Deaths of a run's threads, on purpose: a message that no thread can read makes it throw. To terminate a thread inside native code would abort
 * the process. A lane's thread belongs to the learner's, so an estimator that is loaded there sends it the message.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { Effect, Predicate, type Scope } from "effect";
import type { Tree } from "../../src/config/Tree.ts";
import { onThread } from "./tiny.ts";

export type Victim = "learner" | "generator-0" | "learner-lane-2";

const orderIn = (dir: string): string => join(dir, "kill-lanes");

/** Kills the lanes once while the file `order` is there. */
const estimatorSource = (order: string): string => `
import { existsSync, rmSync } from "node:fs";
const lanes = [];
process.on("worker", (worker) => lanes.push(worker));
export default {
  estimate(episodes) {
    if (lanes.length > 0 && existsSync(${JSON.stringify(order)})) {
      rmSync(${JSON.stringify(order)});
      for (const lane of lanes) lane.postMessage(null);
    }
    return episodes.map(({ turns }, index) => turns.map((_, turn) => ((index + turn) % 3) - 1));
  },
};
`;

/** Settings of a run with two lanes that can be killed. */
export const withLanes = (dir: string): Tree => {
  const estimator = join(dir, "estimator.mjs");
  writeFileSync(estimator, estimatorSource(orderIn(dir)));
  return {
    model: { learner_lanes: 2 },
    actor: { micro_batch_tokens: 128 },
    algorithm: { adv_estimator: "custom", custom_estimator: estimator },
  };
};

/** While the scope lives: kills what `victimAt` names for the n-th answer of a thread whose name starts with `counted`. */
export const killOn = (
  dir: string,
  counted: string,
  victimAt: (answer: number) => Victim | null,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const workers = new Map<string, Worker>();
    yield* onThread("", (worker) => workers.set(worker.threadName ?? "", worker));
    yield* onThread(counted, (_, answer) => {
      const victim = victimAt(answer);
      if (victim === "learner-lane-2") writeFileSync(orderIn(dir), "");
      else if (victim !== null) workers.get(victim)?.postMessage(null);
    });
  });

/** Kills the victim at the n-th answer of a thread, in the first `times` threads of the name. */
export const killAt = (dir: string, victim: Victim, counted: string, answer: number, times = 1) => {
  let deaths = 0;
  return killOn(dir, counted, (n) => (n === answer && deaths++ < times ? victim : null));
};

/** Kills a generator thread behind its n-th request, before it has answered any, in the first `times` threads of the name. */
export const killBehindRequest = (
  name: string,
  request: number,
  times: number,
): Effect.Effect<void, never, Scope.Scope> => {
  let deaths = 0;
  const started = (worker: Worker): void => {
    if (worker.threadName !== name || deaths === times) return;
    deaths++;
    let requests = 0;
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: unknown, ...transfer: readonly []) => {
      post(message, ...transfer);
      const isRequest = Predicate.hasProperty(message, "name") && message.name === "generate";
      if (isRequest && ++requests === request) post(null);
    };
  };
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => process.on("worker", started)),
      () => Effect.sync(() => process.off("worker", started)),
    ),
  );
};

/** Settings of a run whose learner's thread ends once, in its fourth window, if `order` exists: `death` is a statement of its estimator. */
export const withLearnerDeath = (order: string, death: string): Tree => {
  const estimator = `${order}.mjs`;
  writeFileSync(
    estimator,
    `
import { existsSync, rmSync } from "node:fs";
let calls = 0;
export default {
  estimate(episodes) {
    if (++calls === 4 && existsSync(${JSON.stringify(order)})) {
      rmSync(${JSON.stringify(order)});
      ${death}
    }
    return episodes.map(({ turns }, index) => turns.map((_, turn) => ((index + turn) % 3) - 1));
  },
};
`,
  );
  return { algorithm: { adv_estimator: "custom", custom_estimator: estimator } };
};
