/**
 * A policy without a model: it draws ids from the stream of each call, and records every reply with the ids that it stands behind. Invariant: the
 * first `mu` of a reply names it, so that a row of an episode can be found in the record.
 */
import { Effect } from "effect";
import { concatIds } from "../../src/domain/Batch.ts";
import type { Sampled } from "../../src/domain/Episode.ts";
import { stream } from "../../src/domain/Random.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";

export interface RecordedReply {
  /** Ids in front of the reply: all that the sequence has been fed and has sampled. */
  readonly history: Int32Array;
  readonly ids: Int32Array;
}

export interface RecordingPolicy {
  readonly service: typeof Policy.Service;
  /** Replies by their names. A test may remove those that it has checked. */
  readonly replies: Map<number, RecordedReply>;
  /** Sequences that were opened and not released. */
  readonly open: ReadonlySet<number>;
  /** Requests under way, and the most that one sequence had at once. */
  readonly running: () => number;
  readonly mostAtOnce: () => number;
}

export interface PolicyIds {
  readonly endId: number;
  /** Ids that replies are drawn from. */
  readonly ids: readonly number[];
}

/** The name of a reply, which its first log-probability tells. */
export const nameOf = ({ mu }: Sampled): number => -(mu[0] ?? Number.NaN);

/** Answers after up to `mostMs` milliseconds. */
export const recordingPolicy = ({ endId, ids }: PolicyIds, mostMs: number): RecordingPolicy => {
  const histories = new Map<number, Int32Array>();
  const open = new Set<number>();
  const underWay = new Map<number, number>();
  const replies = new Map<number, RecordedReply>();
  let mostAtOnce = 0;
  let count = 0;

  /** Feeds the ids of a request, which stay where its client goes away. */
  const feed = ({ append, sequence }: GenerateRequest): void => {
    histories.set(sequence, concatIds([histories.get(sequence) ?? new Int32Array(0), append]));
  };

  const sample = ({ key, maxTokens, sequence }: GenerateRequest): Sampled => {
    const random = stream(key);
    const length = 1 + random.int(maxTokens);
    const drawn = Array.from({ length }, () => random.pick(ids));
    const isWhole = random.int(3) > 0;
    const reply = Int32Array.from(isWhole ? [...drawn.slice(1), endId] : drawn);
    const history = histories.get(sequence) ?? new Int32Array(0);
    histories.set(sequence, concatIds([history, reply]));
    const name = ++count;
    replies.set(name, { history, ids: reply });
    return {
      ids: reply,
      mu: Float32Array.from(reply, (_, at) => (at === 0 ? -name : -1)),
      versions: new Int32Array(reply.length),
      entropies: new Float32Array(reply.length),
      finish: isWhole ? "stop" : "length",
    };
  };

  const service = Policy.of({
    generate: (request) =>
      Effect.suspend(() => {
        const { key, sequence } = request;
        open.add(sequence);
        feed(request);
        const running = (underWay.get(sequence) ?? 0) + 1;
        underWay.set(sequence, running);
        mostAtOnce = Math.max(mostAtOnce, running);
        const wait = stream({ ...key, purpose: "jitter" }).int(mostMs + 1);
        return Effect.sleep(wait).pipe(
          Effect.andThen(Effect.sync(() => sample(request))),
          Effect.ensuring(
            Effect.sync(() => {
              const left = (underWay.get(sequence) ?? 0) - 1;
              if (left === 0) underWay.delete(sequence);
              else underWay.set(sequence, left);
            }),
          ),
        );
      }),
    release: (sequence) =>
      Effect.sync(() => {
        open.delete(sequence);
        histories.delete(sequence);
      }),
    version: Effect.succeed(0),
    hold: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    gauges: Effect.die("nobody asks for the gauges"),
  });
  return { service, replies, open, running: () => underWay.size, mostAtOnce: () => mostAtOnce };
};
