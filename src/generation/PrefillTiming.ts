/**
 * Decides whether a generator's next step feeds prompts or decodes. Invariant: a step that feeds is followed by one that decodes, where a
 * sequence can. So a long prompt does not stop everyone's next token (stall-free schedules of Agrawal et al. 2024).
 */
export interface PrefillTimingOptions {
  /** While others decode, a prefill waits until this many sequences need one, or for `prefillPatience` decode steps. */
  readonly prefillRows: number;
  readonly prefillPatience: number;
}

/** Numbers of what could be in the next step. */
export interface StepCandidates {
  /** Shared prefixes to feed; they never wait for others. Default 0. */
  readonly prefixes?: number;
  /** Sequences whose prompts could be fed. */
  readonly prompts: number;
  readonly decoding: number;
}

export class PrefillTiming {
  readonly #options: PrefillTimingOptions;
  /** Decode steps for which a prefill has waited. */
  #patience = 0;
  #hasFed = false;

  constructor(options: PrefillTimingOptions) {
    this.#options = options;
  }

  /** Chooses the next step, which the caller then takes. */
  next({ decoding, prefixes = 0, prompts }: StepCandidates): "prefix" | "prefill" | "decode" {
    const canFeed = !this.#hasFed || decoding === 0;
    const feedsPrefixes = canFeed && prefixes > 0;
    const feedsPrompts = canFeed && !feedsPrefixes && prompts > 0 && this.#isDue(prompts, decoding);
    this.#hasFed = feedsPrefixes || feedsPrompts;
    if (feedsPrefixes) return "prefix";
    if (feedsPrompts) this.#patience = 0;
    else if (prompts > 0) this.#patience++;
    return feedsPrompts ? "prefill" : "decode";
  }

  #isDue(prompts: number, decoding: number): boolean {
    const { prefillPatience, prefillRows } = this.#options;
    return decoding === 0 || prompts >= prefillRows || this.#patience >= prefillPatience;
  }
}
