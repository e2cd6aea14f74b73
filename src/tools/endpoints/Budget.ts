/**
 * The budget of an evaluation, in tokens and in money. Pure. Invariant: spending stays within the budget as long as replies keep to their
 * limit and prompts to their estimate. The most a request can cost is reserved before it is sent, so this holds for any number at once.
 */
import type { Usage } from "./Chat.ts";

export interface Prices {
  /** USD per million tokens. */
  readonly in: number;
  readonly out: number;
}

export interface Limits {
  /** Null: no limit. */
  readonly tokens: number | null;
  readonly usd: number | null;
  readonly prices: Prices;
}

/** Tokens spent, and reserved for requests under way. */
export interface Account {
  readonly spent: Usage;
  readonly reserved: Usage;
}

export const nothing: Usage = { prompt: 0, reply: 0 };
export const opened: Account = { spent: nothing, reserved: nothing };

export const plus = (a: Usage, b: Usage): Usage => ({ prompt: a.prompt + b.prompt, reply: a.reply + b.reply });
export const minus = (a: Usage, b: Usage): Usage => ({ prompt: a.prompt - b.prompt, reply: a.reply - b.reply });
const largest = (a: Usage, b: Usage): Usage => ({
  prompt: Math.max(a.prompt, b.prompt),
  reply: Math.max(a.reply, b.reply),
});

/** Adds up the usage of a list that grows at its end, and finds the largest. Each call reads only the new items. */
export const meter = <A>(usageOf: (item: A) => Usage) => {
  let read = 0;
  let sum = nothing;
  let most = nothing;
  return (items: readonly A[]): { readonly sum: Usage; readonly most: Usage } => {
    for (const item of items.slice(read)) {
      const usage = usageOf(item);
      sum = plus(sum, usage);
      most = largest(most, usage);
    }
    read = items.length;
    return { sum, most };
  };
};

export const total = ({ prompt, reply }: Usage): number => prompt + reply;

/** USD. */
export const cost = (prices: Prices, { prompt, reply }: Usage): number =>
  (prices.in * prompt + prices.out * reply) / 1_000_000;

const within = ({ prices, tokens, usd }: Limits, usage: Usage): boolean =>
  (tokens === null || total(usage) <= tokens) && (usd === null || cost(prices, usage) <= usd);

/** Reserves `most`; null where the budget does not have it. */
export const reserve = (limits: Limits, { reserved, spent }: Account, most: Usage): Account | null => {
  const claimed = plus(reserved, most);
  return within(limits, plus(spent, claimed)) ? { spent, reserved: claimed } : null;
};

/** Replaces the reservation of `most` by the request's actual usage. */
export const settle = ({ reserved, spent }: Account, most: Usage, used: Usage): Account => ({
  spent: plus(spent, used),
  reserved: minus(reserved, most),
});

/** Episodes so far: what finished ones have cost together, the most that one of them has, and how many are under way. */
export interface Progress {
  readonly finished: number;
  readonly cost: Usage;
  readonly most: Usage;
  readonly underway: number;
}

const times = (count: number, { prompt, reply }: Usage): Usage => ({ prompt: count * prompt, reply: count * reply });

/**
 * True when one more episode is expected to finish within the budget. It and those under way count as much as the dearest so far, since
 * short ones finish first. Before one has finished, nothing is expected and any is admitted.
 */
export const admits = (
  limits: Limits,
  { spent }: Account,
  { cost: paid, finished, most, underway }: Progress,
): boolean => {
  if (!within(limits, spent)) return false;
  if (finished === 0) return true;
  // Usage of failed episodes, which neither finished nor are under way, is gone too.
  const gone = largest(paid, minus(spent, times(underway, most)));
  return within(limits, plus(gone, times(underway + 1, most)));
};

/** Estimates the tokens of a prompt of `characters` by earlier prompts; before any, it takes two characters for a token. */
export const estimated = (characters: number, seen: { readonly characters: number; readonly tokens: number }): number =>
  Math.ceil(characters * (seen.characters === 0 ? 0.5 : seen.tokens / seen.characters));

/** Null without a budget. */
export const left = ({ prices, tokens, usd }: Limits, { spent }: Account): string | null => {
  const parts = [
    ...(tokens === null ? [] : [`${total(spent)} of ${tokens} tokens`]),
    ...(usd === null ? [] : [`${cost(prices, spent).toFixed(4)} of ${usd} USD`]),
  ];
  return parts.length === 0 ? null : parts.join(", ");
};
