/** Findings of `agent check` about the model that plays: its chat template, and its tokens as the learner scores them. Pure. */
import type { Message } from "../../domain/Conversation.ts";
import { type AgentFinding, type CheckedEpisode, finding } from "./findings.ts";

const user: Message = { role: "user", text: "" };
const result: Message = { role: "tool", call: "", text: "" };

/** Says what a template changes in earlier messages once these follow a reply; undefined where it changes nothing. */
type Rewriting = (added: readonly Message[]) => string | undefined;

/** The changes by each shape of messages. A user's message behind results counts where neither changes anything alone. */
const changesBy = (rewriting: Rewriting): readonly string[] => {
  const alone = [[user], [result]].flatMap((added) => rewriting(added) ?? []);
  return alone.length > 0 ? alone : [[result, user]].flatMap((added) => rewriting(added) ?? []);
};

/** A template that changes earlier messages: a warning once a call of the episodes began anew by it. */
export const templateFindings = (
  rewriting: Rewriting,
  episodes: readonly CheckedEpisode[],
): readonly AgentFinding[] => {
  const changes = changesBy(rewriting);
  if (changes.length === 0) return [];
  const hasForked = episodes.some(({ roots }) => roots.some(({ fork }) => fork === "template"));
  return [
    finding(
      hasForked ? "warning" : "note",
      `the chat template is not append-only (${changes.join("; ")}): each such call begins anew and costs the prefill of its whole history`,
    ),
  ];
};

/** The sampled tokens of the episodes, scored again by the learner. */
export interface Rescoring {
  /** Largest difference of a token's two log-probabilities, nats. */
  readonly difference: number;
  /** True where generator and learner compute the same: in float32 on the CPU, and without truncated sampling. */
  readonly isExact: boolean;
}

/**
 * A larger difference is no rounding where generator and learner compute the same, nats. Rounding grows with the model: 8e-6 was measured at 0.9 M
 * parameters and 3e-5 at 135 M.
 */
const rounding = 1e-4;

/** A difference beyond rounding means that the learner reads other ids than were sampled, or behind others. */
export const rescoringFindings = ({ difference, isExact }: Rescoring): readonly AgentFinding[] => {
  const largest = `the learner scores the sampled tokens again: log-probabilities differ by ${difference.toExponential(1)} at most`;
  if (!isExact)
    return [finding("note", `${largest}, by the generator's number format or device, or truncated sampling`)];
  return difference <= rounding
    ? [finding("note", largest)]
    : [finding("fatal", `${largest}, more than ${rounding}: what would be trained is not what was sampled`)];
};
