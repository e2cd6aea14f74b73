/**
 * Applies a reply, whoever wrote it: reads it, maps its actions and carries them out. This part of a turn knows texts and no ids.
 * Invariants: a failed step is the episode's outcome; a failed engine fails the effect.
 */
import { Effect } from "effect";
import type { Outcome, TruncationReason, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Split } from "../env/contract/Environment.ts";
import type { Environments, StepFailure, StepResult, View } from "../env/contract/Environments.ts";
import type { Dialogue, RepliedTurn } from "./Dialogue.ts";
import { noiseKey } from "./keys.ts";
import type { ParsedReply } from "./parse.ts";
import { hasExtraPenalties, type PenaltyInput, type PenaltyKeys, penaltiesOf, sumPenalties } from "./penalties.ts";
import type { ReplyPosition } from "./readReply.ts";

/** The turn of an episode that a reply answers. */
export interface ReplyContext extends ReplyPosition {
  readonly environments: typeof Environments.Service;
  readonly dialogue: Pick<Dialogue, "read">;
  readonly penalties: PenaltyKeys;
  /** Seed of the noise streams. */
  readonly seed: number;
  readonly split: Split;
  readonly prompt: Prompt;
  readonly member: number;
  /** Content key of the instance. */
  readonly instance: string;
  /** 1-based. */
  readonly turn: number;
  /** True if the episode has succeeded so far. */
  readonly success: boolean;
}

export interface AppliedReply
  extends Pick<Turn, "parsed" | "actions" | "penalty" | "penalties" | "executed" | "reward" | "info">,
    Pick<RepliedTurn, "requests" | "results"> {
  readonly reading: ParsedReply;
  /** After the turn; as before it where no action was executed. */
  readonly view: View;
  readonly success: boolean;
  /** No legal action was named. */
  readonly invalid: boolean;
  /** The outcome that ends the episode; null where it goes on. */
  readonly outcome: Outcome | null;
}

export const truncatedOutcome = (reason: TruncationReason, success: boolean): Outcome => ({
  _tag: "Truncated",
  reason,
  success,
});

/** The outcome by which a step ends an episode that may take `actionsLeft` more actions; null where it goes on. */
export const outcomeOf = ({ success, terminated, truncated: cut }: StepResult, actionsLeft: number): Outcome | null => {
  if (terminated) return { _tag: "Done", success };
  if (cut) return truncatedOutcome("environment", success);
  return actionsLeft <= 0 ? truncatedOutcome("max_actions", success) : null;
};

const step = (context: ReplyContext, actions: readonly string[]) => {
  const { environments, instance, member, prompt, seed, split, turn, view } = context;
  const noise = noiseKey(seed, split, prompt, member, turn);
  return environments
    .step({ tag: prompt.tag, state: view.state, actions, noise, instance })
    .pipe(Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)));
};

/** The penalty of a turn, and what it is made of where a switch is on. */
const penaltyOf = ({ penalties }: ReplyContext, judged: PenaltyInput): Pick<Turn, "penalty" | "penalties"> => {
  if (!hasExtraPenalties(penalties)) return { penalty: judged.penalised ? penalties.format_penalty : 0 };
  const parts = penaltiesOf(penalties, judged);
  return { penalty: sumPenalties(parts), penalties: parts };
};

/** Reads `reply`, its generation prefix put back and its end token left out, and carries out the actions that it names. */
export const applyReply = Effect.fnUntraced(function* (context: ReplyContext, reply: string) {
  const { actionsLeft, success, view } = context;
  const {
    actions,
    requests,
    executable,
    info: read,
    invalid,
    penalised,
    reading,
  } = context.dialogue.read(context, reply);
  const parsedReply = {
    reading,
    parsed: reading.parsed,
    actions,
    invalid,
    ...(requests === undefined ? {} : { requests }),
  };
  const penaltiesFor = (executed: number) => penaltyOf(context, { reading, penalised, executed });
  const withoutStep = (outcome: Outcome | null): AppliedReply => {
    const unchanged = { executed: 0, reward: 0, info: read ?? {}, results: [], view, success };
    return { ...parsedReply, ...penaltiesFor(0), ...unchanged, outcome };
  };
  if (executable.length === 0) return withoutStep(null);
  const result = yield* step(context, executable);
  if ("_tag" in result) return withoutStep({ _tag: "Failed", reason: result.reason, message: result.message });
  const { executed, results = [], reward } = result;
  const info = { ...read, ...result.info };
  const outcome = outcomeOf(result, actionsLeft - executed);
  const afterStep = { executed, reward, info, results, view: result.view, success: result.success, outcome };
  const applied: AppliedReply = { ...parsedReply, ...penaltiesFor(executed), ...afterStep };
  return applied;
});
