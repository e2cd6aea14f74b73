/** A check of an environment, and what it finds. Invariant: whatever an environment throws is a finding, never a failure of the check. */
import type { AnyEnvironment } from "../contract/BoundEnvironment.ts";
import { messageOf } from "../contract/prepare.ts";
import { type Act, instanceOf, type PlayedEpisode, playEpisode, randomAction, StepFault } from "./players.ts";

export interface Subject {
  readonly environment: AnyEnvironment;
  /** The same without transition noise, where a plan must succeed as it stands; absent where there is none. */
  readonly certain?: AnyEnvironment | undefined;
  /** Most actions of one episode. */
  readonly actions: number;
  /** Samples actions where they are free text, so that episodes come further than by guesses. */
  readonly act?: Act | undefined;
}

export type Finding =
  /** `measured` is what was found, for people; it may be empty. */
  | { readonly status: "pass"; readonly measured: string }
  /** `isStepFault`: a step threw, so that the check could not be made. */
  | { readonly status: "fail"; readonly reason: string; readonly isStepFault: boolean }
  | { readonly status: "does not apply"; readonly reason: string };

export interface Check {
  /** A sentence without its full stop: what holds. */
  readonly name: string;
  readonly run: (context: CheckContext) => Promise<string>;
}

class CheckFailed extends Error {}
class NotApplicable extends Error {}

/** Ends a check: the environment does not keep what the check's name says. */
export const fail = (reason: string): never => {
  throw new CheckFailed(reason);
};

/** Ends a check that asks nothing of this environment. */
export const skip = (reason: string): never => {
  throw new NotApplicable(reason);
};

/** Seeds of the instances that are looked at. */
export const seeds: readonly number[] = Array.from({ length: 24 }, (_, seed) => seed);

/** A subject with its players. */
export class CheckContext {
  readonly subject: Subject;
  readonly environment: AnyEnvironment;
  readonly signal: AbortSignal = new AbortController().signal;

  constructor(subject: Subject) {
    this.subject = subject;
    this.environment = subject.environment;
  }

  /** The environment on which a plan is played. */
  get certain(): AnyEnvironment {
    return this.subject.certain ?? this.environment;
  }

  /** What the solver or the adviser plays, looking at each state anew; null where there is neither. */
  get expert(): Act | null {
    const { certain } = this;
    if (certain.asynchronous) return null;
    const { advise, solve } = certain;
    if (solve !== null) return (state) => solve(state)?.[0] ?? null;
    return advise === null ? null : (state) => advise(state);
  }

  async start(seed: number, split: "train" | "val" = "train"): Promise<unknown> {
    return this.environment.reset(instanceOf(seed), split, this.signal);
  }

  /** An episode of the subject's own player, or of the random one. */
  episode(seed: number, member: number): Promise<PlayedEpisode> {
    return this.episodeBy(this.subject.act ?? randomAction(this.environment), seed, member);
  }

  /** An episode of `act`, of `count` actions at most. */
  episodeBy(
    act: Act,
    seed: number,
    member: number,
    environment = this.environment,
    count = this.subject.actions,
  ): Promise<PlayedEpisode> {
    return playEpisode(environment, { act, seed, member, maxActions: count }, this.signal);
  }

  async release(state: unknown): Promise<void> {
    if (this.environment.asynchronous) await this.environment.release?.(state);
  }
}

export const runCheck = async ({ run }: Check, subject: Subject): Promise<Finding> => {
  try {
    return { status: "pass", measured: await run(new CheckContext(subject)) };
  } catch (cause) {
    const reason = messageOf(cause);
    if (cause instanceof NotApplicable) return { status: "does not apply", reason };
    return { status: "fail", reason, isStepFault: cause instanceof StepFault };
  }
};
