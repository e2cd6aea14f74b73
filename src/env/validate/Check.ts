/** A check of an environment and its finding. Invariant: an error that an environment throws is a finding, never a failure of the check. */
import type { AnyEnvironment } from "../contract/BoundEnvironment.ts";
import { messageOf } from "../contract/prepare.ts";
import { type Act, instanceOf, type PlayedEpisode, playEpisode, randomAction, StepFault } from "./players.ts";

export interface Subject {
  readonly environment: AnyEnvironment;
  /** The same environment without transition noise, in which a plan must succeed as it stands; absent where there is none. */
  readonly certain?: AnyEnvironment | undefined;
  /** The most actions of one episode. */
  readonly actions: number;
  /** A sampler of actions for free text, with which episodes come further than by guesses. */
  readonly act?: Act | undefined;
}

export type Finding =
  /** `measured` is a text for people with what the check saw; it may be empty. */
  | { readonly status: "pass"; readonly measured: string }
  /** `isStepFault` is true if a step threw, so that the check could not be made. */
  | { readonly status: "fail"; readonly reason: string; readonly isStepFault: boolean }
  | { readonly status: "does not apply"; readonly reason: string };

/** A check of the contract. */
export interface Check {
  /** The statement that holds if the check passes, without a full stop. */
  readonly name: string;
  readonly run: (context: CheckContext) => Promise<string>;
}

class CheckFailed extends Error {}
class NotApplicable extends Error {}

/** Ends a check: the environment does not keep what the check's name says. */
export const fail = (reason: string): never => {
  throw new CheckFailed(reason);
};

/** Ends a check that does not apply to this environment. */
export const skip = (reason: string): never => {
  throw new NotApplicable(reason);
};

/** The seeds of the instances that are checked. */
export const seeds: readonly number[] = Array.from({ length: 24 }, (_, seed) => seed);

/** The subject of a check, and the episodes that its players play. */
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

  /** A player that asks the solver, or else the adviser, in each state anew; null where there is neither. */
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

  /** Plays an episode by the subject's own sampler, or else by random actions. */
  episode(seed: number, member: number): Promise<PlayedEpisode> {
    return this.episodeBy(this.subject.act ?? randomAction(this.environment), seed, member);
  }

  /** Plays an episode by `act`, of `count` actions at most. */
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
