/** Episodes of SearchQA: searches, answers and odd replies, over the local library and over stand-in servers that fail. */
import { describe, expect, it } from "vitest";
import type { SearchConfig } from "../../../../src/env/games/search/SearchConfig.ts";
import { SearchQA, type SearchState } from "../../../../src/env/games/search/SearchQA.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { configWith, local, remote } from "./config.ts";
import { documents, questions } from "./shipped.ts";
import { nobody, withServer } from "./standIn.ts";

const { signal } = new AbortController();
const mountain: SearchState = {
  question: "How high is the mountain on which the Sarrabourne rises?",
  answers: ["1,523 metres", "1,523"],
  steps: 0,
  seen: { _tag: "Nothing" },
};

const act = (config: SearchConfig, state: SearchState, action: string) =>
  SearchQA.step(config, state, action, noiseOf(0, 0, 0), signal);

const question = (config: SearchConfig, seed: number, split: "train" | "val" = "train") =>
  SearchQA.reset(config, instanceOf(seed), split, signal);

describe("the start", () => {
  it("shows the question and the two actions", () => {
    expect(SearchQA.render(local(), mountain)).toBe(
      "Question: How high is the mountain on which the Sarrabourne rises?\nAvailable actions: search[<query>], finish[<answer>]",
    );
    expect(SearchQA.actions(local(), mountain)).toBeNull();
  });

  it("counts through the questions by the seed, and begins again after the last", async () => {
    const keys = await Promise.all(
      [10_000, 10_001, 10_080].map(async (seed) => SearchQA.contentKey(local(), await question(local(), seed))),
    );
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys[2]).toBe(keys[0]);
  });

  it("asks of validation what training never asks", async () => {
    const seeds = Array.from({ length: 80 }, (_, seed) => seed);
    const questionsOf = async (split: "train" | "val") =>
      new Set((await Promise.all(seeds.map((seed) => question(local(), seed, split)))).map((state) => state.question));
    const [train, val] = [await questionsOf("train"), await questionsOf("val")];
    expect([train.size, val.size]).toEqual([80, 20]);
    expect([...val].filter((one) => train.has(one))).toEqual([]);
  });

  it("asks the same questions in both splits where the files do not differ, as RAGEN does", async () => {
    const config = configWith({ path: "config/data/search/train.jsonl", retriever: { type: "bm25" } });
    expect(await question(config, 3, "val")).toEqual(await question(config, 3, "train"));
  });
});

describe("a search", () => {
  it("shows the best documents and goes on", async () => {
    const { info, reward, state, terminated, truncated } = await act(local(), mountain, "search[Sarrabourne river]");
    expect([reward, terminated, truncated]).toEqual([0, false, false]);
    expect(info).toEqual({
      success: false,
      action_is_effective: true,
      action_is_valid: true,
      total_searches: 1,
      final_em: false,
      final_f1: 0,
      total_retrieval_failures: 0,
    });
    const text = SearchQA.render(local(), state);
    expect(text).toMatch(
      /^Results of the search for "Sarrabourne river":\nDocument 1 \(ID: sarrabourne-river, score: /,
    );
    expect(text).toContain("Mount Ishara");
    expect(text.endsWith("\n\nAvailable actions: search[<query>], finish[<answer>]")).toBe(true);
    expect(text.match(/^Document \d/gm)).toEqual([
      "Document 1",
      "Document 2",
      "Document 3",
      "Document 4",
      "Document 5",
    ]);
  });

  it("shows no more documents and characters than its keys say", async () => {
    const config = local({ max_doc_chars: 20, max_total_chars: 100, retriever: { type: "bm25", top_k: 3 } });
    const { state } = await act(config, mountain, "search[island]");
    if (state.seen._tag !== "Found") return expect.unreachable(state.seen._tag);
    expect(state.seen.documents.map(({ content }) => content.length)).toEqual([23, 23, 23]);
    expect(SearchQA.render(config, state).split("\n").slice(1, -2).join("\n").length).toBe(103);
  });

  it.each(["search[]", "search[zxqv]"])("that finds nothing says so: %s", async (action) => {
    const { info, state } = await act(local(), mountain, action);
    expect(SearchQA.render(local(), state)).toContain("No document matches the query.");
    expect(info).toMatchObject({ total_searches: 1, total_retrieval_failures: 0, action_is_valid: true });
  });

  it("that is the last action ends the episode with nothing", async () => {
    const config = local({ max_steps: 2 });
    const first = await act(config, mountain, "search[Sarrabourne]");
    expect([first.terminated, first.truncated]).toEqual([false, false]);
    const last = await act(config, first.state, "search[Mount Ishara]");
    expect([last.reward, last.terminated, last.truncated, last.info.success]).toEqual([0, false, true, false]);
    expect(SearchQA.render(config, last.state)).toContain("1,523 metres");
    expect(SearchQA.render(config, last.state)).toContain("the episode ends without an answer");
  });

  it("gives the same documents every time", async () => {
    const once = await act(local(), mountain, "search[highest mountain of the southern chain]");
    expect(await act(local(), mountain, "search[highest mountain of the southern chain]")).toEqual(once);
  });
});

describe("an answer", () => {
  it.each([
    ["finish[1,523 metres]", 1, true, true, 1],
    ["finish[1523]", 1, true, true, 1],
    // Two of four words, both of those wanted.
    ["finish[it is 1523 metres]", 2 / 3, true, false, 2 / 3],
    ["finish[nine metres and some more than that up to seven]", 0, false, false, 2 / 12],
    ["finish[704 metres]", 0.5, true, false, 0.5],
    ["finish[]", 0, false, false, 0],
  ])("%s ends the episode", async (action, reward, success, em, f1) => {
    const answered = await act(local(), mountain, action);
    expect([answered.terminated, answered.truncated]).toEqual([true, false]);
    expect(answered.reward).toBeCloseTo(reward, 12);
    expect(answered.info).toMatchObject({
      success,
      final_em: em,
      action_is_valid: true,
      action_is_effective: true,
      total_searches: 0,
    });
    expect(answered.info.final_f1).toBeCloseTo(f1, 12);
  });

  it("is shown with its reward", async () => {
    const { state } = await act(local(), mountain, "finish[it is 1523 metres]");
    expect(SearchQA.render(local(), state)).toBe("Your answer: it is 1523 metres. Reward: 0.67");
  });

  it("may come with the last action", async () => {
    const { reward, terminated, truncated } = await act(local({ max_steps: 1 }), mountain, "finish[1523]");
    expect([reward, terminated, truncated]).toEqual([1, true, false]);
  });

  it.each([
    ["I think the answer is 1,523 metres.", "1,523 metres", 1],
    ["**1523**", "1523", 1],
    ["Search[Sarrabourne]", "Search[Sarrabourne]", 0],
    ["finish[1523", "finish[1523", 0],
  ])("without its form is sought in the text: %s", async (action, shownAnswer, reward) => {
    const answered = await act(local(), mountain, action);
    expect([answered.terminated, answered.reward]).toEqual([true, reward]);
    expect(answered.info).toMatchObject({ action_is_valid: false, action_is_effective: true, success: reward > 0 });
    expect(SearchQA.render(local(), answered.state)).toContain(`(taken from your text): ${shownAnswer}. Reward: `);
  });

  it("that is yes or no counts as a whole", async () => {
    const state = { ...mountain, question: "Is it so?", answers: ["yes"] };
    expect((await act(local(), state, "finish[Yes.]")).reward).toBe(1);
    expect((await act(local(), state, "finish[yes indeed]")).reward).toBe(0);
    expect((await act(local(), state, "finish[no]")).reward).toBe(0);
  });
});

describe("an empty action", () => {
  it("takes a step and says what the actions are", async () => {
    const { info, reward, state, terminated } = await act(local(), mountain, "  ");
    expect([reward, terminated, state.steps]).toEqual([0, false, 1]);
    expect(info).toMatchObject({ action_is_valid: false, action_is_effective: false, total_searches: 0 });
    expect(SearchQA.render(local(), state)).toContain("Write search[<query>]");
  });
});

describe("a search that fails", () => {
  it.each([
    ["a server that is overwhelmed", { status: 503, body: { error: "busy" } }, "answered with status 503 (busy)"],
    ["a server that refuses", { status: 400 }, "answered with status 400."],
    ["nonsense", { text: "nonsense" }, "answer cannot be read"],
    ["silence", null, "took longer than 0.08 seconds"],
  ])("by %s is shown and counted, and the episode goes on", (_name, answer, said) =>
    withServer(
      () => answer,
      async ({ url }) => {
        const config = remote(url, { timeout_ms: answer === null ? 80 : 30_000, retries: 1 });
        const { info, reward, state, terminated, truncated } = await act(config, mountain, "search[Sarrabourne]");
        expect([reward, terminated, truncated]).toEqual([0, false, false]);
        expect(info).toMatchObject({
          total_searches: 1,
          total_retrieval_failures: 1,
          action_is_valid: true,
          success: false,
        });
        expect(SearchQA.render(config, state)).toContain('The search for "Sarrabourne" failed. ');
        expect(SearchQA.render(config, state)).toContain(said);
        expect((await act(config, state, "finish[1523]")).reward).toBe(1);
      },
    ),
  );

  it("costs only the episode whose search it is", () =>
    withServer(
      (_n, { body }) =>
        body.includes("silence") ? null : { body: { results: [{ id: "a", content: "1,523", score: 1 }] } },
      async ({ url }) => {
        const [hasty, patient] = [remote(url, { timeout_ms: 80 }), remote(url)];
        const [lost, ...others] = await Promise.all([
          act(hasty, mountain, "search[silence]"),
          ...["one", "two", "three"].map((query) => act(patient, mountain, `search[${query}]`)),
        ]);
        expect(lost!.info.total_retrieval_failures).toBe(1);
        expect(others.map(({ info }) => info.total_retrieval_failures)).toEqual([0, 0, 0]);
      },
    ));

  it("rejects only when nobody waits any more", () =>
    withServer(
      () => null,
      async ({ asked, url }) => {
        const leaving = new AbortController();
        const waiting = SearchQA.step(remote(url), mountain, "search[x]", noiseOf(0, 0, 0), leaving.signal);
        const refused = expect(waiting).rejects.toThrow();
        await expect.poll(() => asked.length, { timeout: 20_000, interval: 5 }).toBe(1);
        leaving.abort();
        await refused;
      },
    ));

  it("has failed before the step's own time limit is up", () => {
    expect(SearchQA.timeoutMs(remote("http://far", { timeout_ms: 30_000 }))).toBeGreaterThan(30_000);
    expect(SearchQA.capacity(configWith())).toBe(32);
  });
});

describe("what is lacking", () => {
  it("is nothing for the local library", async () => {
    expect(await SearchQA.lacks!(local())).toEqual([]);
    expect(await SearchQA.report!(local())).toEqual([]);
  });

  it("is nothing where a server is healthy", () =>
    withServer(
      (_n, { path }) => (path === "/health" ? { body: { status: "healthy" } } : { status: 500 }),
      async ({ url }) => {
        expect(await SearchQA.lacks!(remote(url))).toEqual([]);
      },
    ));

  it("is said with the key to set", async () => {
    const [server] = await SearchQA.lacks!(remote(await nobody()));
    expect(server).toMatch(
      /^the retrieval server at http:\/\/127.0.0.1:\d+ is not ready \(it cannot be reached: .*env_config\.retriever\.url/,
    );
    const [folder] = await SearchQA.lacks!(local({ retriever: { type: "bm25", folder: "nowhere" } }));
    expect(folder).toBe("nowhere: no such folder; set env_config.retriever.folder to a folder of documents");
    const [file] = await SearchQA.lacks!(local({ path: "nowhere.jsonl" }));
    expect(file).toContain("set env_config.path to a file of questions");
  });

  it("rejects the preparation", async () => {
    await SearchQA.prepare!(local());
    await expect(SearchQA.prepare!(local({ path: "nowhere.jsonl" }))).rejects.toThrow("nowhere.jsonl");
    const folderless = local({ retriever: { type: "bm25", folder: "nowhere" } });
    await expect(SearchQA.prepare!(folderless)).rejects.toThrow("no such folder");
  });
});

describe("the compact observation", () => {
  it("is a few words of ASCII of whatever was seen", async () => {
    const states = [mountain];
    for (const action of ["search[Sarrabourne]", "search[zxqv]", "", "finish[704 metres]"]) {
      states.push((await act(local(), mountain, action)).state);
    }
    const accented = { ...mountain, question: "Où est “Café” 𝛼?" };
    const texts = [...states, accented].map((state) => SearchQA.compact(local(), state));
    expect(texts[0]).toBe(mountain.question);
    expect(texts[1]).toMatch(/^Sarrabourne \(river\) /);
    expect(texts.slice(2)).toEqual(["nothing found", "no action", "reward 0.50", "Ou est Cafe ?"]);
    expect(texts.every((text) => /^[\x20-\x7e]+$/.test(text) && text.split(" ").length <= 45)).toBe(true);
  });
});

describe("a reader who searches for the question, then for the second document", () => {
  it("answers every question of the library", async () => {
    for (const { evidence, ground_truth, question: text } of questions) {
      const second = documents.get(evidence[1] ?? "")?.title;
      let state: SearchState = { ...mountain, question: text, answers: ground_truth };
      const seen = new Set<string>();
      for (const query of [text, ...(second === undefined ? [] : [second])]) {
        state = (await act(local(), state, `search[${query}]`)).state;
        if (state.seen._tag === "Found") for (const { id } of state.seen.documents) seen.add(id);
      }
      expect([text, evidence.filter((id) => !seen.has(id))]).toEqual([text, []]);
      expect((await act(local(), state, `finish[${ground_truth[0]}]`)).reward).toBe(1);
    }
  });
});
