/** A golden chat rendered as the rollout does: the opening, then replies and bridges in turn, each reply closed by the end token. */
import { Effect } from "effect";
import { make } from "../../../src/model/tokenizer/ChatTemplate.ts";
import type { Tokenizer } from "../../../src/model/tokenizer/Tokenizer.ts";

/** `messages` are a system's and a user's, then an assistant's and a user's in turn. */
export const inPieces = async (
  tokenizer: Tokenizer,
  messages: readonly { readonly content: string }[],
): Promise<readonly number[]> => {
  const template = await Effect.runPromise(make(tokenizer));
  const [system = "", first = "", ...turns] = messages.map(({ content }) => content);
  return [
    ...template.opening(system, first),
    ...turns.flatMap((text, index) =>
      index % 2 === 0 ? [...tokenizer.encode(text), template.endId] : [...template.bridge(text)],
    ),
  ];
};
