/** The part of a written reply that a model would have to sample, since its prompt has the beginning already. */
import { Result } from "effect";
import type { TextPart } from "../ChatTexts.ts";
import { thoughtTag } from "../TextVariants.ts";

/** The parts without their first `length` characters. */
const dropCharacters = (parts: readonly TextPart[], length: number): readonly TextPart[] => {
  let left = length;
  return parts.flatMap((part) => {
    const text = part.text.slice(left);
    left = Math.max(0, left - part.text.length);
    return text === "" ? [] : [{ ...part, text }];
  });
};

/**
 * A reply from behind the text `opened`, which the prompt of a reply with `replyPrefix` ends with: the prefix, and what the template writes of a
 * thought. Where no thought is asked for, a reply need not begin with it. Fails if thoughts are asked for and missing, or the other way round.
 */
export const behindPrefix = (
  parts: readonly TextPart[],
  opened: string,
  replyPrefix: string,
): Result.Result<readonly TextPart[], string> => {
  const text = parts.map((part) => part.text).join("");
  if (text.startsWith(opened)) return Result.succeed(dropCharacters(parts, opened.length));
  if (replyPrefix.startsWith(thoughtTag)) {
    return text.startsWith(thoughtTag)
      ? Result.succeed(dropCharacters(parts, thoughtTag.length))
      : Result.fail(`the reply does not begin with ${thoughtTag}, as replies of this run do`);
  }
  const emptyThought = opened.slice(0, opened.length - replyPrefix.length);
  const from = emptyThought !== "" && text.startsWith(emptyThought) ? emptyThought.length : 0;
  const at = text.startsWith(replyPrefix, from) ? from + replyPrefix.length : from;
  return text.startsWith(thoughtTag, at)
    ? Result.fail(`the reply begins with ${thoughtTag}, and replies of this run with ${replyPrefix}`)
    : Result.succeed(dropCharacters(parts, at));
};
