/** A summary of earlier turns as the policy writes it: a token sequence of its own, drawn from a stream of its own. */
import { Effect } from "effect";
import type { Sequence } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import { commonPrefix, withoutEnd } from "./context.ts";
import { summaryKey } from "./keys.ts";
import type { SummaryWriter } from "./Summaries.ts";
import type { EpisodeContext } from "./turn.ts";

/** `system` is the system message of the episode's chats, `shared` its ids, which other chats begin with too. */
export const policyWriter =
  (game: EpisodeContext, system: string, shared: () => Int32Array): SummaryWriter<Sequence, PolicyError> =>
  (request, turns) => {
    const { member, mode, policy, prompt, rollout, sequence } = game;
    const { chat, decode, limits, seed } = rollout;
    const append = chat.opening(system, request);
    if (append.length + limits.summary_length > limits.max_model_len) return Effect.succeed(null);
    const generated = policy.generate({
      sequence,
      append,
      sharedPrefix: commonPrefix(append, shared()),
      maxTokens: limits.summary_length,
      sampling: mode.sampling,
      key: summaryKey(seed, mode.split, prompt, member, turns),
      pin: mode.pin,
    });
    return Effect.tap(generated, () => policy.release(sequence)).pipe(
      Effect.map((sampled) => {
        const text = decode(withoutEnd(rollout, sampled)).trim();
        const noActions = { actions: [], executed: 0, reward: 0, penalty: 0, info: {} };
        const turn = { prompt: append, sampled, state: request, reply: text, parsed: true, ...noActions };
        return { text, record: { turns: [turn], summary: { trained: limits.train_summary } } };
      }),
    );
  };
