/**
 * One episode of training played by replies that no model wrote, so that its prompts can be looked at. Invariant: the prompts are those that
 * the rollout's own code sends to a generator after the same replies.
 */

import { Context, Deferred, Effect } from "effect";
import { concatIds } from "../src/domain/Batch.ts";
import type { Outcome, Sampled } from "../src/domain/Episode.ts";
import { EnvironmentError, PolicyError } from "../src/domain/Errors.ts";
import type { Prompt } from "../src/domain/Group.ts";
import { Environments, type View } from "../src/env/contract/Environments.ts";
import { type GenerateRequest, Policy } from "../src/generation/Policy.ts";
import type { Tokenizer } from "../src/model/tokenizer/Tokenizer.ts";
import * as Group from "../src/rollout/group.ts";
import type { PlayMode, Rollout } from "../src/rollout/Rollout.ts";
import type { Template } from "../src/rollout/Template.ts";
import { unsampledReply } from "../src/tools/cloning/Demonstration.ts";

/** A reply by whoever plays. */
export interface WrittenReply {
  /** Without the prefix that its prompt ends with, and without an end. */
  readonly text: string;
  /** The reply's author as it is printed, for example `the solver`. */
  readonly author: string;
}

/** Writes the reply to a turn; null ends the play before it. */
export type Writer = (view: View, turn: number) => Effect.Effect<WrittenReply | null, string>;

/** A reply with its consequences, as printed behind its prompt. */
export interface ShownReply {
  /** With its end token, where it was not cut. */
  readonly text: string;
  readonly author: string;
  readonly tokens: number;
  /** It is longer than a reply may be. */
  readonly isCut: boolean;
  /** The actions that were carried out; empty where none was legal. */
  actions: readonly string[];
}

/** The prompt that the model receives before one reply. */
export interface ShownPrompt {
  /** A prompt for a summary asks for one of the first `turn` turns. */
  readonly kind: "turn" | "summary";
  readonly turn: number;
  /** The text that it adds to the chat; of a new chat, all of it. */
  readonly text: string;
  /** Tokens that this prompt adds, and tokens of the whole context before the reply. */
  readonly added: number;
  readonly tokens: number;
  /** The first turn that a new chat shows; null where the chat before goes on. */
  readonly from: number | null;
  /** Most tokens of the reply. */
  readonly room: number;
  /** Null where the play ends before it. */
  readonly reply: ShownReply | null;
}

export interface ShownEpisode {
  readonly prompts: readonly ShownPrompt[];
  /** Null where the play ended before the episode. */
  readonly outcome: Outcome | null;
}

const summary: WrittenReply = { text: "(the policy's summary)", author: "a stand-in" };

/** The template, `onChat` told of the first turn that a chat shows which does not begin as the episode did. */
const watchedTemplate = (template: Template, onChat: (from: number) => void): Template => ({
  ...template,
  reopening: (task, moment, recall) => {
    onChat(moment.turn);
    return template.reopening(task, moment, recall);
  },
  retelling: (task, moment, retold) => {
    onChat(moment.turn - retold.shown.length);
    return template.retelling(task, moment, retold);
  },
});

/** A generator that answers by `writer`, and keeps what it was asked. */
class ScriptedGenerator {
  readonly prompts: ShownPrompt[] = [];
  /** Completed where the writer has nothing more to say. */
  readonly ended = Deferred.makeUnsafe<null>();
  /** Ids of the chat that is open, in pieces; empty before one begins. */
  #chat: Int32Array[] = [];
  /** The first turn that the next new chat shows. */
  #from = 1;
  #view: View | null = null;
  readonly #rollout: Rollout;
  readonly #tokenizer: Pick<Tokenizer, "decode" | "encode">;
  readonly #writer: Writer;

  constructor(rollout: Rollout, tokenizer: Pick<Tokenizer, "decode" | "encode">, writer: Writer) {
    this.#rollout = rollout;
    this.#tokenizer = tokenizer;
    this.#writer = writer;
  }

  /** The rollout whose prompts are kept. */
  get rollout(): Rollout {
    const onChat = (from: number): void => {
      this.#from = from;
    };
    return { ...this.#rollout, template: watchedTemplate(this.#rollout.template, onChat) };
  }

  /** The policy of the episode. */
  readonly policy = Policy.of({
    generate: (request) =>
      Effect.flatMap(this.#answer(request), (sampled) =>
        sampled === null ? Effect.andThen(Deferred.succeed(this.ended, null), Effect.never) : Effect.succeed(sampled),
      ),
    release: () =>
      Effect.sync(() => {
        this.#chat = [];
      }),
    version: Effect.succeed(0),
    hold: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    gauges: Effect.die("a scripted generator has no gauges"),
  });

  /** The environments, whose views the writer sees and whose steps say what a reply did. */
  watched(environments: typeof Environments.Service): typeof Environments.Service {
    const see = (view: View): void => {
      this.#view = view;
    };
    return Environments.of({
      ...environments,
      reset: (request) => Effect.tap(environments.reset(request), (view) => Effect.sync(() => see(view))),
      step: (request) =>
        Effect.tap(environments.step(request), ({ executed, view }) =>
          Effect.sync(() => {
            see(view);
            const reply = this.prompts.at(-1)?.reply;
            if (reply) reply.actions = request.actions.slice(0, executed);
          }),
        ),
    });
  }

  #answer(request: GenerateRequest): Effect.Effect<Sampled | null, PolicyError> {
    const { key } = request;
    const isSummary = key.purpose === "summary";
    const begins = this.#chat.length === 0;
    this.#chat.push(request.append);
    const written = isSummary
      ? Effect.succeed(summary)
      : this.#view === null
        ? Effect.succeed(null)
        : this.#writer(this.#view, key.counters.at(-1) ?? 0);
    return written.pipe(
      Effect.map((reply) => this.#note(request, begins, reply)),
      Effect.mapError((message) => new PolicyError({ reason: "session_failed", message })),
    );
  }

  /** Notes a prompt and the reply to it, as if it had been sampled. */
  #note({ append, key, maxTokens }: GenerateRequest, begins: boolean, written: WrittenReply | null): Sampled | null {
    const { decode } = this.#tokenizer;
    const kind = key.purpose === "summary" ? "summary" : "turn";
    const turn = key.counters.at(-1) ?? 0;
    const tokens = concatIds(this.#chat).length;
    const from = begins && kind === "turn" ? this.#from : null;
    const shown = { kind, turn, text: decode(append), added: append.length, tokens, from, room: maxTokens } as const;
    if (written === null) {
      this.prompts.push({ ...shown, reply: null });
      return null;
    }
    const whole = [...this.#tokenizer.encode(written.text), this.#rollout.chat.endId];
    const ids = Int32Array.from(whole.slice(0, maxTokens));
    const isCut = ids.length < whole.length;
    this.#chat.push(ids);
    const reply = { text: decode(ids), author: written.author, tokens: ids.length, isCut, actions: [] };
    this.prompts.push({ ...shown, reply });
    return isCut ? { ...unsampledReply(ids), finish: "length" } : unsampledReply(ids);
  }
}

/** Plays the one member of `prompt`'s group by `writer`. Fails where its instance cannot be made. */
export const showEpisode = Effect.fnUntraced(function* (
  rollout: Rollout,
  tokenizer: Pick<Tokenizer, "decode" | "encode">,
  mode: PlayMode,
  prompt: Prompt,
  writer: Writer,
) {
  const generator = new ScriptedGenerator(rollout, tokenizer, writer);
  const environments = generator.watched(yield* Environments);
  const services = Context.make(Policy, generator.policy).pipe(Context.add(Environments, environments));
  const group = yield* Effect.raceFirst(
    Effect.provideContext(Group.play(generator.rollout, mode, prompt), services),
    Deferred.await(generator.ended),
  );
  const outcome = group?.episodes[0]?.outcome ?? null;
  if (outcome?._tag === "Failed" && generator.prompts.length === 0) {
    return yield* new EnvironmentError({ tag: prompt.tag, message: `${prompt.tag}: ${outcome.message}` });
  }
  const episode: ShownEpisode = { prompts: generator.prompts, outcome };
  return episode;
});
