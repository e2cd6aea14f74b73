import fc from "fast-check";
import { expect, it } from "vitest";
import { parseTasks, rowOfLevel, rowOfSeed, splitTasks, taskSource } from "../../../src/agents/host/tasks.ts";

const rows = (count: number): readonly number[] => Array.from({ length: count }, (_, row) => row);

it("keeps every tenth task for validation, and shares a lone one", () => {
  expect(splitTasks(rows(21)).val).toEqual([0, 10, 20]);
  expect(splitTasks(rows(21)).train).toHaveLength(18);
  expect(splitTasks(["only"])).toEqual({ train: ["only"], val: ["only"] });
});

it("plays each row once, by consecutive seeds, before it plays one again", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 40 }),
      fc.nat(10_000),
      fc.constantFrom("train", "val"),
      (count, first, split) => {
        const lists = splitTasks(rows(count));
        const taskOf = rowOfSeed(lists);
        const rowsPlayed = lists[split].map((_, at) => taskOf(first + at, split));
        expect(new Set(rowsPlayed)).toEqual(new Set(lists[split]));
        expect(rowsPlayed.map((_, at) => taskOf(first + lists[split].length + at, split))).toEqual(rowsPlayed);
      },
    ),
  );
});

it("plays the rows of a level by themselves, and names a level that no task has", () => {
  const tasks = rows(40).map((row) => ({ row, level: row < 30 ? "easy" : "hard" }));
  const taskOf = rowOfLevel(tasks);
  const rowsPlayed = (level: string | undefined, split: "train" | "val", count: number) =>
    new Set(rows(count).map((seed) => (taskOf(seed, split, level) as { readonly row: number }).row));
  expect([...rowsPlayed("easy", "train", 27), ...rowsPlayed("easy", "val", 3)].toSorted((a, b) => a - b)).toEqual(
    rows(30),
  );
  expect([...rowsPlayed("hard", "train", 9), ...rowsPlayed("hard", "val", 1)].toSorted((a, b) => a - b)).toEqual(
    rows(40).slice(30),
  );
  expect(rowsPlayed(undefined, "train", 36).size).toBe(36);
  expect(() => taskOf(0, "train", "odd")).toThrow('tasks: none has the level "odd" of agent.levels');
});

it("shuffles the rows", () => {
  const taskOf = rowOfSeed(splitTasks(rows(100)));
  expect(rows(90).map((seed) => taskOf(seed, "train"))).not.toEqual(splitTasks(rows(100)).train);
});

it("reads JSONL, blank lines aside, and names the line that is none", () => {
  expect(parseTasks("t.jsonl", '{"a": 1}\n\n"b"\n')).toEqual([{ a: 1 }, "b"]);
  expect(() => parseTasks("t.jsonl", "1\n{")).toThrow('tasks: t.jsonl:2: no JSON: "{"');
});

it("refuses a list without tasks, and gives a function as it is", async () => {
  await expect(taskSource("agent.ts", { tasks: [] })).rejects.toThrow("tasks: the list is empty");
  const taskOf = await taskSource("agent.ts", { tasks: (seed: number, split: string) => `${split} ${seed}` });
  expect(taskOf(3, "val")).toBe("val 3");
});
