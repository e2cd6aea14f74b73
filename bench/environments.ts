/**
 * Measures the cost of each environment that needs no server, through the service that rollouts call. Rendering the
 * state is included.
 */
import { join } from "node:path";
import { Context, Effect, Layer, Result } from "effect";
import { resolve } from "../src/config/resolve.ts";
import type { EnvironmentError } from "../src/domain/Errors.ts";
import { Environments, type StepFailure } from "../src/env/contract/Environments.ts";
import { decodePreset, gamesUrl, loadRegistry } from "../src/env/games/registry.ts";
import { layerInline, layerThreads, type StepPool } from "../src/env/pool/StepPool.ts";
import { type Bench, type Figure, figureOf, type Measured } from "./Bench.ts";
import { type Episodes, record } from "./recorded.ts";
import { rates, repeat, type Samples } from "./samples.ts";

/** One preset of each environment that runs offline. */
export const tags = [
  ...["Bandit", "CoordFrozenLake", "CoordSokoban", "rubikscube", "game_2048", "Countdown", "SimpleSudoku", "Spatial"],
  ...["MetamathQA", "StaticGSM8K", "SearchQAMock", "DeepCoderJavaScript"],
] as const;

/**
 * Actions for environments that take free text and have no solver: a search and an answer, a program that answers
 * nothing.
 */
const words: Readonly<Record<string, readonly string[]>> = {
  SearchQAMock: ["search[harbour lighthouse]", "finish[yes]"],
  DeepCoderJavaScript: ["const main = () => null;"],
};

const THREADS = 2;

export interface Effort {
  readonly episodes: Pick<Episodes, "count" | "actions">;
  /** Time of one repetition, milliseconds; as many requests as fit. */
  readonly ms: number;
  readonly iterations: number;
  readonly warmup: number;
}

const usual: Effort = { episodes: { count: 24, actions: 24 }, ms: 100, iterations: 9, warmup: 2 };

type Failure = StepFailure | EnvironmentError;

/** Answers a second; requests come again from the first when there are no more. A request that fails breaks the bench. */
const perSecond = async <Request>(
  { iterations, ms, warmup }: Effort,
  requests: readonly Request[],
  call: (request: Request) => Effect.Effect<unknown, Failure>,
): Promise<Samples> => {
  const run = async (count: number): Promise<number> => {
    const repeatedRequests = Array.from({ length: count }, (_, at) => requests[at % requests.length]!);
    const start = performance.now();
    await Effect.runPromise(Effect.forEach(repeatedRequests, call, { concurrency: "unbounded", discard: true }));
    return performance.now() - start;
  };
  await run(4);
  const each = (await run(4)) / 4;
  const count = Math.min(16_384, Math.max(4, Math.ceil(ms / each)));
  return rates(await repeat({ iterations, warmup }, () => run(count)), count * 1000);
};

const within = <A>(
  layer: Layer.Layer<Environments | StepPool, EnvironmentError>,
  use: (environments: typeof Environments.Service) => Promise<A>,
): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(Layer.build(layer), (context) => Effect.promise(() => use(Context.get(context, Environments)))),
    ),
  );

const configDir = join(import.meta.dirname, "..", "config");

export const measure = async (tag: string, effort: Effort): Promise<readonly Figure[]> => {
  const { config } = await Effect.runPromise(resolve("base", [], configDir));
  const preset = config.custom_envs[tag]!;
  const environment = Result.getOrThrow(decodePreset(tag, preset, await loadRegistry([preset.env_type])));
  const recorded = await record(tag, environment, { ...effort.episodes, words: words[tag] ?? [] });
  const figures = (where: string, layer: Layer.Layer<Environments | StepPool, EnvironmentError>) =>
    within(layer, async ({ reset, step }) => [
      figureOf(`${tag}, ${where}: instances`, "1/s", await perSecond(effort, recorded.resets, reset)),
      figureOf(`${tag}, ${where}: steps`, "1/s", await perSecond(effort, recorded.steps, step)),
    ]);
  const inline = layerInline(new Map([[tag, environment]]));
  if (environment.asynchronous) return figures("waiting", inline);
  const threads = layerThreads({
    registry: gamesUrl,
    presets: { [tag]: preset },
    threads: THREADS,
    concurrency: THREADS,
    timeoutMs: 60_000,
  });
  return [...(await figures("inline", inline)), ...(await figures(`${THREADS} threads`, threads))];
};

export const bench: Bench = {
  question: "how many instances and steps of each environment a second, on the main thread and in threads?",
  parts: tags.map((tag) => async (): Promise<Measured> => {
    const figures = await measure(tag, usual);
    return () => figures;
  }),
};
