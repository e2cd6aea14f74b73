/** Each client plays episodes against the endpoint; the ids that a script sampled must be all that is trained, in one sequence. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clients } from "./clients.ts";
import { late, lost, never, type PlayedEpisode, type ScriptedEndpoint, startEndpoint } from "./endpoint.ts";
import { expectTrained, toolCall } from "./episode.ts";
import { type Order, type ProgramResult, startProgram } from "./program.ts";

let endpoint: ScriptedEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint();
});
afterAll(() => endpoint.close());

// All programs load at once, before the first of them is asked.
const programs = new Map(clients.map(({ file, name, variant }) => [name, startProgram(file, variant)]));
afterAll(() => {
  for (const program of programs.values()) program.end();
});

const paris = { city: "Paris", day: 1 };
const rome = { city: "Rome", day: 1 };
const note = { text: "Rome: 25 °C – “warm”\n", places: [{ name: "Rome", share: 0.5 }], isSure: true };

const questions = ["Where is it warmer, in Paris or in Rome?", "By how much?"];
const replies = [
  `<think>\nTwo cities.\n</think>\n\nI ask for both.\n${toolCall("weather", paris)}\n${toolCall("weather", rome)}`,
  toolCall("note", note),
  "In Rome.",
  "By 5 degrees.",
];

/** Text of the prompt behind a reply. */
const behindReply = (text: string): string => `\n<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`;
const response = (text: string): string => `<tool_response>\n${text}\n</tool_response>`;

/** The usage of each call on the one path. */
const usagesOf = ({ prompts, replies: sampled }: PlayedEpisode) => {
  let shown = 0;
  return prompts.map((prompt, at) => {
    const reply = sampled[at]?.ids.length ?? 0;
    shown += prompt.length + reply;
    return { prompt: shown - reply, reply };
  });
};

/** The word of a client for the end of a reply, which may be the class of the error that it throws. */
const endOf = ({ error, finish }: ProgramResult): string | null | undefined => error?.classes[0] ?? finish;

describe.each(clients)("$name", (client) => {
  const { asksAgain, breakOff, dialect, finishes, hasStop, leavesOutEmpty, name, namesAnswers, refusal } = client;
  const program = programs.get(name)!;
  const run = ({ apiKey }: Pick<PlayedEpisode, "apiKey">, order: Partial<Order>): Promise<ProgramResult> =>
    program.run({ do: "ask", isStreamed: false, questions, ...order, url: endpoint.url, apiKey });
  const waysToAnswer = [
    ["whole", false],
    ["as a stream", true],
  ] as const;

  it.each([
    ["whole", false, replies],
    ["as a stream", true, replies],
    ["as a stream with signs of life", true, replies.map(late)],
  ] as const)("plays an episode with tools, answered %s", async (_, isStreamed, script) => {
    const episode = await endpoint.open(...script);
    const result = await run(episode, { do: "episode", isStreamed });
    expect(result).toEqual({
      isAborted: false,
      texts: ["In Rome.", "By 5 degrees."],
      calls: [
        { name: "weather", arguments: paris },
        { name: "weather", arguments: rome },
        { name: "note", arguments: note },
      ],
      usages: usagesOf(episode),
    });
    expect(endpoint.calls.map((read) => [read.dialect, read.call.isStreamed])).toEqual(
      replies.map(() => [dialect, isStreamed]),
    );
    expect(endpoint.calls.some(({ call }) => call.previous !== null)).toBe(namesAnswers);
    expectTrained(episode, { calls: 4 });
    const [opening, ...bridges] = episode.prompts.map(endpoint.decode);
    expect(opening).toContain("Be brief.\n\n# Tools");
    expect(opening).toContain(`<|im_start|>user\n${questions[0]}<|im_end|>\n<|im_start|>assistant\n`);
    expect(bridges).toEqual([
      behindReply(`${response("20 °C")}\n${response("25 °C")}`),
      behindReply(response("noted")),
      behindReply(questions[1] ?? ""),
    ]);
  });

  it.each(waysToAnswer)("keeps replies as they are that a model writes badly, answered %s", async (_, isStreamed) => {
    const script = [
      `Hm, \n\n${toolCall("weather", { city: 5, more: { a: [1.0, null] } })}`,
      '<tool_call>\n{"name": "note"}\n</tool_call>',
      "  It is <tool_call>\n\n warm. \n",
      "By <think>5</think> degrees.\n",
    ];
    const episode = await endpoint.open(...script);
    const result = await run(episode, { do: "episode", isStreamed });
    expect(result.texts).toEqual(script.slice(2));
    expectTrained(episode, { calls: 4 });
  });

  it("throws its own error for a wrong key, and asks once", async () => {
    await endpoint.open();
    const { error } = await run({ apiKey: "mr-ep-wrong" }, {});
    expect(error?.classes).toContain(refusal);
    expect([error?.status, error?.message]).toEqual([401, expect.stringContaining("belongs to no episode")]);
    expect(endpoint.keys).toEqual(["mr-ep-wrong"]);
  });

  it.each(waysToAnswer)("reads why a reply ended, answered %s", async (_, isStreamed) => {
    const episode = await endpoint.open("Rome is warm.", "Rome is warm.");
    expect(await run(episode, { isStreamed })).toMatchObject({ text: "Rome is warm.", finish: finishes.stop });
    const length = isStreamed ? finishes.lengthOfStream : finishes.length;
    expect(endOf(await run(episode, { isStreamed, maxTokens: 3 }))).toBe(length);
    expect(episode.replies[1]?.ids.length).toBe(3);
  });

  it.each(waysToAnswer)("reads an answer beyond the budget as one that was cut, answered %s", async (_, isStreamed) => {
    const episode = await endpoint.open();
    const result = await run(episode, { isStreamed });
    expect(endOf(result)).toBe(finishes.beyondBudget ?? (isStreamed ? finishes.lengthOfStream : finishes.length));
    expect([result.text ?? "", episode.session.limit, episode.session.tree.size]).toEqual(["", "max_turn", 0]);
  });

  it.each(waysToAnswer)("goes on behind a reply without a text, answered %s", async (_, isStreamed) => {
    const episode = await endpoint.open("", "In Rome.", "By 5 degrees.");
    await run(episode, { do: "episode", isStreamed });
    expect(episode.replies.length).toBe(asksAgain && isStreamed ? 3 : 2);
    expect(episode.trained().sequences.length).toBe(leavesOutEmpty ? 2 : 1);
  });

  it.each(hasStop ? waysToAnswer : [])("ends a reply at its stop text, answered %s", async (_, isStreamed) => {
    const episode = await endpoint.open("Rome.\nParis is cold.");
    const result = await run(episode, { isStreamed, stop: ["END", "\nParis"] });
    expect(result).toMatchObject({ text: "Rome.", finish: finishes.stopText });
    expect(endpoint.calls[0]?.call.wishes.stop).toEqual(["END", "\nParis"]);
    expect(endpoint.decode(episode.replies[0]?.ids ?? [])).toBe("Rome.\nParis");
  });

  it("throws where a stream breaks off, or asks again", async () => {
    const episode = await endpoint.open(late(lost), "In Rome.");
    const { error, text } = await run(episode, { isStreamed: true });
    expect(error?.message ?? text).toContain(breakOff);
    expect(endpoint.keys.length).toBe(breakOff === "In Rome." ? 2 : 1);
    expect(episode.session.tree.size).toBe(endpoint.keys.length - 1);
  });

  it.each(waysToAnswer)("cancels the generation if its call is aborted, answered %s", async (_, isStreamed) => {
    const episode = await endpoint.open(isStreamed ? late(never) : never, "In Rome.");
    const aborting = run(episode, { isStreamed });
    await episode.waited;
    program.abort();
    expect(await aborting).toMatchObject({ isAborted: true });
    await episode.interrupted;
    expect(await run(episode, { isStreamed })).toMatchObject({ text: "In Rome." });
    expectTrained(episode, { calls: 1 });
  });
});
