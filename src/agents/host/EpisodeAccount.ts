/**
 * The account that an agent gives of its episode through control routes: rewards of calls and of the whole, and its end. Invariants: saying a thing
 * twice changes nothing; the first end counts.
 */
import { isDeepStrictEqual } from "node:util";
import { Deferred, Effect, Result } from "effect";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import { type AgentResult, type Rewards, readOutcome } from "./outcome.ts";

/** An agent's report that its episode has ended. */
export interface EpisodeEnd {
  readonly status: "done" | "failed" | "aborted";
  /** Why it failed or was aborted. */
  readonly message: string;
  /** Reward, success and metrics, as an agent's `run` returns them. */
  readonly outcome: Readonly<Record<string, unknown>>;
}

const failures = { failed: "agent_error", aborted: "agent_aborted" } as const;

export class EpisodeAccount {
  /** Completes once the agent has reported its end. */
  readonly ended = Deferred.makeUnsafe<AgentResult, HostFailure>();
  readonly #calls = new Map<number, number>();
  #whole: number | null = null;
  #end: EpisodeEnd | null = null;

  /** The rewards so far; null without any. */
  get rewards(): Rewards | null {
    if (this.#whole === null && this.#calls.size === 0) return null;
    return { whole: this.#whole ?? 0, calls: this.#calls };
  }

  /** The reported end; null before it. */
  get end(): EpisodeEnd | null {
    return this.#end;
  }

  /** Sets the reward of a call, by the number of its answer, or of the whole episode (null). */
  setReward(call: number | null, reward: number): void {
    if (call === null) this.#whole = reward;
    else this.#calls.set(call, reward);
  }

  /** Reports the end. Returns a sentence if its outcome cannot be used, or differs from an end that was reported before. */
  reportEnd(end: EpisodeEnd): string | null {
    if (this.#end !== null) return isDeepStrictEqual(this.#end, end) ? null : "this episode has ended otherwise before";
    if (end.status === "done") {
      const result = readOutcome(end.outcome, this.rewards);
      if (Result.isFailure(result)) return result.failure;
      Deferred.doneUnsafe(this.ended, Effect.succeed(result.success));
    } else Deferred.doneUnsafe(this.ended, Effect.fail(hostFailure(failures[end.status], end.message)));
    this.#end = end;
    return null;
  }
}
