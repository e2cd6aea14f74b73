import { expect, it } from "vitest";
import { type CheckedEpisode, findingsOf, treeLines } from "../../../src/agents/check/findings.ts";
import { CallTree } from "../../../src/agents/tree/CallTree.ts";
import type { AssistantMessage, Message, Tool } from "../../../src/domain/Conversation.ts";
import type { Episode, Outcome } from "../../../src/domain/Episode.ts";
import { ScriptedTree } from "../../build/agentEpisodes.ts";
import { sampled } from "../../rollout/fakes.ts";

const user = (text: string): Message => ({ role: "user", text });
const tool: Tool = { name: "search", description: "", parameters: {} };

/** A tree of calls; each is the messages that its client sent, and its reply. */
const treeOf = (calls: readonly (readonly [readonly Message[], string])[], tools: readonly Tool[] = []): CallTree => {
  const tree = new CallTree();
  for (const [messages, text] of calls) {
    const reply: AssistantMessage = { role: "assistant", text, calls: [] };
    const prompt = Int32Array.from({ length: 9 });
    tree.add(tree.place({ messages, tools }), { prompt, sampled: sampled(text), reply, problems: [] });
  }
  return tree;
};

const checked = (
  tree: CallTree,
  reward: number,
  more: Partial<CheckedEpisode> & { outcome?: Outcome } = {},
): CheckedEpisode => {
  const { outcome = { _tag: "Done", success: false }, ...changes } = more;
  const turn = {
    prompt: Int32Array.of(),
    sampled: sampled("x"),
    state: "",
    reply: "",
    parsed: true,
    actions: [],
    executed: 0,
    reward,
    penalty: 0,
    info: {},
  };
  const episode: Episode = {
    id: { group: 0, member: 0 },
    tag: "Agent",
    seed: 0,
    sequences: [{ turns: [turn] }],
    outcome,
  };
  return { episode, limit: null, roots: tree.roots, ignoredWishes: [], ...changes };
};

const one = [[user("a")], "b"] as const;
const two = [[user("a"), { role: "assistant", text: "b", calls: [] }, user("c")], "d"] as const satisfies readonly [
  readonly Message[],
  string,
];

const grades = (episodes: readonly CheckedEpisode[]) =>
  findingsOf(episodes).map(({ grade, sentence }) => `${grade}: ${sentence}`);

it("finds nothing but the share of sampled tokens in an agent whose episodes differ", () => {
  expect(grades([checked(treeOf([one, two]), 0), checked(treeOf([one]), 1)])).toEqual([
    "note: 18 % of the tokens are sampled and trained",
  ]);
});

it.each<[string, CheckedEpisode, string]>([
  [
    "failed",
    checked(treeOf([]), 0, { outcome: { _tag: "Failed", reason: "agent_error", message: "it broke" } }),
    "fatal: episode 1 failed: it broke",
  ],
  [
    "made one call although it has tools",
    checked(treeOf([one], [tool]), 0),
    "warning: no reply called a tool that is offered: a model that does not call tools by itself is shown how first (millrace sft, sft.conversations)",
  ],
  [
    "began anew",
    checked(treeOf([one, [[user("sum")], "x"]]), 0),
    "warning: 1 calls begin anew (the agent shortens its history): each costs the prefill of its whole history",
  ],
  [
    "was cut",
    checked(treeOf([one]), 0, { limit: "context" }),
    "warning: an episode was cut at its limit of context (rollout.max_model_len)",
  ],
  [
    "was sampled otherwise than it asked",
    checked(treeOf([one]), 0, { ignoredWishes: ["temperature 0"] }),
    "note: calls ask for temperature 0: training samples as the run file says (generation.temperature)",
  ],
])("says of an episode that it %s", (_, episode, sentence) => {
  expect(grades([episode])).toContain(sentence);
});

it("notes that two episodes earned the same, and lists what was left out", () => {
  const found = grades([checked(treeOf([one, one, two]), 1), checked(treeOf([one]), 1)]);
  expect(found).toContain("note: both episodes earned 1: a group teaches only where rewards differ");
  expect(found).toContain("note: 1 calls were repeated and not gone on from: they are left out");
});

it("counts calls that are left out as not trained in the share of trained tokens", () => {
  // Each call shows 9 tokens and samples 2: 4 of 22 are trained without the repeated call, and 4 of 33 with it.
  const shares = [
    [one, two],
    [one, one, two],
  ].map((calls) => grades([checked(treeOf(calls), 1)])[0]);
  expect(shares).toEqual([18, 12].map((share) => `note: ${share} % of the tokens are sampled and trained`));
});

it("draws a line of calls at one depth, and its branches deeper", () => {
  const branch = [[user("a"), { role: "assistant", text: "b", calls: [] }, user("e")], "f"] as const;
  expect(treeLines(treeOf([one, two]).roots).map((line) => line.search(/\S/))).toEqual([0, 0]);
  expect(treeLines(treeOf([one, two, branch as never]).roots).map((line) => line.search(/\S/))).toEqual([0, 2, 2]);
});

it("says which calls are not trained, and what a reply calls", () => {
  expect(treeLines(treeOf([one, one, two]).roots).map((line) => line.includes("(not trained)"))).toEqual([
    false,
    false,
    true,
  ]);
  const script = new ScriptedTree();
  script.answer([user("a")], { calls: [["search", { query: "moon" }]] });
  expect(treeLines(script.tree.roots)).toEqual(['call 1: +1 tokens, 1 sampled: search({"query":"moon"})']);
});

it("says a cause once that fails both episodes", () => {
  const outcome: Outcome = { _tag: "Failed", reason: "agent_error", message: "it broke" };
  const [first, second] = [checked(treeOf([one]), 0, { outcome }), checked(treeOf([one]), 0, { outcome })];
  const other = { ...second, episode: { ...second.episode, id: { group: 0, member: 1 } } };
  expect(grades([first, other])).toContain("fatal: episodes 1 and 2 failed: it broke");
});

it("finds that the result of a tool's call never comes back", () => {
  const tree = new CallTree();
  const reply: AssistantMessage = { role: "assistant", text: "", calls: [{ id: "c", name: "search", arguments: {} }] };
  const placement = tree.place({ messages: [user("a")], tools: [tool] });
  tree.add(placement, { prompt: new Int32Array(9), sampled: sampled("b"), reply, problems: [] });
  expect(grades([checked(tree, 0)])).toContain(
    "fatal: each episode ends with its first call of a tool: the result never came back to the model",
  );
});
