/** Episodes of tools over the templates of several models: their ids, what the model is shown, and what becomes of bad replies. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import type { AssistantMessage, Message, ToolCall } from "../../../src/domain/Conversation.ts";
import { penaltyOf, rewardOf, type Turn, turnsOf } from "../../../src/domain/Episode.ts";
import { stream } from "../../../src/domain/Random.ts";
import { openingMessagesOf } from "../../../src/rollout/tools/toolDialogue.ts";
import { family, play, type Reply, replyIds, rolloutOf, task, till } from "./playing.ts";

const priceOf = (thing: string, turn: number, at = 0): ToolCall => ({
  id: `call_${turn}_${at}`,
  name: "price",
  arguments: { thing },
});
const calling = (...calls: readonly ToolCall[]): AssistantMessage => ({ role: "assistant", text: "", calls });
const saying = (text: string): AssistantMessage => ({ role: "assistant", text, calls: [] });
const result = (text: string, turn: number, at = 0): Message => ({ role: "tool", call: `call_${turn}_${at}`, text });

/** The till of seed 1 wants the prices of dates and bread, 4 and 8, and their sum. */
const startOf = () => {
  if (till.asynchronous) throw new Error("the till is pure");
  const state = till.reset(stream({ seed: 1, purpose: "instance", counters: [] }), "train");
  const view = {
    state,
    observation: till.render(state),
    compact: till.compact(state),
    actions: null,
    contentKey: till.contentKey(state),
  };
  return { view, turn: 1, actionsLeft: task.maxActions };
};

const shownIn = ({ state }: Turn): string => state;

describe("an episode of tools", () => {
  it.effect.each([
    ["nano", "<answer>", true],
    ["qwen2.5", "", true],
    ["tool-use", "", true],
    ["llama3", "", false],
  ] as const)("has the ids of the whole conversation in the template of %s", ([name, prefix, isParallel]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family(name);
        const tillRollout = rolloutOf(model, prefix);
        const messages: Message[] = [...openingMessagesOf(tillRollout.template, task, startOf())];
        const replies: Int32Array[] = [];
        const say = Effect.fnUntraced(function* (message: AssistantMessage, ...behind: readonly Message[]) {
          replies.push(yield* replyIds(model, messages, message, prefix));
          messages.push(message, ...behind);
        });
        yield* say(calling(priceOf("dates", 1)), result("4", 1));
        const both = isParallel ? [priceOf("bread", 2), priceOf("milk", 2, 1)] : [priceOf("bread", 2)];
        yield* say(calling(...both), result("8", 2), ...(isParallel ? [result("no milk here", 2, 1)] : []));
        yield* say(saying("12"));
        const { episode, ids } = yield* play(tillRollout, model, replies);
        expect(episode.outcome).toEqual({ _tag: "Done", success: true });
        const tools = task.tools ?? [];
        const whole = yield* model.conversation.opening({ tools, messages }, prefix);
        expect(ids).toEqual(whole.slice(0, ids.length));
        expect(whole[ids.length - 1]).toBe(model.chat.endId);
        const turns = turnsOf(episode);
        expect(turns.map(shownIn)).toEqual(["dates bread", "4", isParallel ? "8\nno milk here" : "8"]);
        expect(turns.flatMap(({ actions }) => actions)).toEqual([
          ...['price({"thing":"dates"})', 'price({"thing":"bread"})'],
          ...(isParallel ? ['price({"thing":"milk"})'] : []),
          "12",
        ]);
        expect(rewardOf(episode)).toBe(1);
      }),
    ),
  );

  it.effect("keeps the ids that were sampled where Qwen3's template would rewrite them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("qwen3");
        const added = [result("4", 1)];
        expect(model.conversation.isAppendOnly).toBe(false);
        const call = '<tool_call>\n{"name": "price", "arguments": {"thing": "dates"}}\n</tool_call>';
        const { episode } = yield* play(rolloutOf(model, ""), model, [call, "12"]);
        const [first, second] = turnsOf(episode);
        expect(model.tokenizer.decode(first!.sampled.ids)).toBe(`${call}<|im_end|>`);
        expect(second!.prompt).toEqual(yield* model.conversation.bridge(added, task.tools ?? [], ""));
        expect(rewardOf(episode)).toBe(1);
      }),
    ),
  );

  it.effect("forces the end of a reply that was cut before its result", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const { episode } = yield* play(rolloutOf(model, "<answer>"), model, [{ cut: "price(dates)" }, "1</answer>"]);
        const [, second] = turnsOf(episode);
        expect(model.tokenizer.decode(second!.prompt)).toBe("<|im_end|><|user|>4<|assistant|><answer>");
      }),
    ),
  );
});

interface BadReply {
  readonly name: string;
  readonly reply: Reply;
  readonly shown: string;
  readonly unread: number;
  readonly refused: number;
}

const badReplies: readonly BadReply[] = [
  {
    name: "calls no tool that is offered",
    reply: "cost(dates)</answer>",
    shown: 'it calls "cost", which is no tool of this call',
    unread: 1,
    refused: 0,
  },
  {
    name: "cannot be read",
    reply: "add(1, 2, 3)</answer>",
    shown: 'the call "add(1, 2, 3)" cannot be read: it has 3 arguments, and the tool takes 2',
    unread: 1,
    refused: 0,
  },
  {
    name: "has arguments that do not fit",
    reply: 'add("one", 2)</answer>',
    shown: "a: expected number",
    unread: 0,
    refused: 1,
  },
  { name: "lacks an argument", reply: "add(1)</answer>", shown: "b: missing key", unread: 0, refused: 1 },
  {
    name: "was cut",
    reply: { cut: "the sum of" },
    shown: "the reply was cut after 60 tokens",
    unread: 1,
    refused: 0,
  },
];

describe("a reply that", () => {
  it.effect.each(badReplies)("$name is answered, counted and penalised, and plays nothing", (bad) =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const { episode } = yield* play(rolloutOf(model, "<answer>"), model, [bad.reply, "1</answer>"]);
        const [first, second] = turnsOf(episode);
        expect(second?.state).toBe(bad.shown);
        expect(first).toMatchObject({ actions: [], executed: 0, parsed: bad.unread === 0, penalty: -0.1 });
        expect(first?.info).toEqual({ total_unread_calls: bad.unread, total_refused_calls: bad.refused });
        expect(penaltyOf(episode)).toBe(-0.1);
        expect(episode.outcome).toEqual({ _tag: "Done", success: false });
      }),
    ),
  );

  it.effect("calls more than a reply may is answered for each call, and not penalised", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const reply = "price(egg)\nadd(1)\nprice(fig)\nprice(apple)</answer>";
        const { episode } = yield* play(rolloutOf(model, "<answer>"), model, [reply, "1</answer>"]);
        const [first, second] = turnsOf(episode);
        expect(first?.executed).toBe(2);
        const [egg, missing, fig, over] = second?.state.split("\n") ?? [];
        expect([Number(egg), Number(fig)].every((price) => price > 0)).toBe(true);
        expect(missing).toBe("b: missing key");
        expect(over).toBe("not carried out: at most 2 of a reply are");
      }),
    ),
  );

  it.effect("does not close its thought is no answer", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const tillRollout = rolloutOf(model, "<think>", { enable_think: true });
        const thinking = "look first</think><answer>price(dates)</answer>";
        const { episode } = yield* play(tillRollout, model, [thinking, "so 1", "sum</think><answer>12</answer>"]);
        const turns = turnsOf(episode);
        expect(turns.map(shownIn)).toEqual(["dates bread", "4", "the reply does not close its thought"]);
        const [first] = turns;
        const [from, to] = first?.thought ?? [0, 0];
        expect(model.tokenizer.decode(first!.sampled.ids.slice(from, to))).toBe("look first");
        expect(rewardOf(episode)).toBe(1);
      }),
    ),
  );
});

describe("the limits of an episode of tools", () => {
  it.effect("end it by actions and by turns", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const call = "price(egg)</answer>";
        const turns = yield* play(rolloutOf(model, "<answer>", { max_turn: 3 }), model, [call]);
        expect(turns.episode.outcome).toEqual({ _tag: "Truncated", reason: "max_turn", success: false });
        const twice = `price(egg)\n${call}`;
        const actions = yield* play(rolloutOf(model, "<answer>"), model, [twice]);
        expect(actions.episode.outcome).toEqual({ _tag: "Truncated", reason: "max_actions", success: false });
        expect(turnsOf(actions.episode).map(({ executed }) => executed)).toEqual([2, 2, 2, 2, 1]);
      }),
    ),
  );

  it.effect("fail it where the template cannot write a result", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const broken = {
          ...model,
          conversation: { ...model.conversation, bridge: () => Effect.fail("it cannot be written") },
        };
        const { episode } = yield* play(rolloutOf(broken, "<answer>"), model, ["price(egg)</answer>"]);
        expect(episode.outcome).toEqual({ _tag: "Failed", reason: "step_error", message: "it cannot be written" });
        expect(turnsOf(episode)).toHaveLength(1);
      }),
    ),
  );
});
