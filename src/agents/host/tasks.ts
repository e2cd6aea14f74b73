/** The task of an episode, as a pure function of its seed and split: the episodes of a group play the same one. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { stream } from "../../domain/Random.ts";
import type { Agent } from "./Agent.ts";

/** The task of a seed; one of `level` where an agent's tasks have levels. */
export type TaskSource = (seed: number, split: "train" | "val", level?: string) => unknown;

/** One row in so many is kept for validation, where a list does not say which. */
const validationShare = 10;

/** Every tenth task of a list is validation's; a list of fewer than two is both's. */
export const splitTasks = (tasks: readonly unknown[]): Readonly<Record<"train" | "val", readonly unknown[]>> => {
  if (tasks.length < 2) return { train: tasks, val: tasks };
  const val = tasks.filter((_, at) => at % validationShare === 0);
  return { train: tasks.filter((_, at) => at % validationShare !== 0), val };
};

/**
 * The tasks of seeds. Windows' own groups have consecutive seeds, so they play each row once, in a shuffled order, before they play one again; so
 * does a validation.
 */
export const rowOfSeed = (lists: ReturnType<typeof splitTasks>): TaskSource => {
  const random = stream({ seed: 0, purpose: "instance", counters: [1] });
  const orders = { train: random.shuffle(lists.train), val: random.shuffle(lists.val) };
  return (seed, split) => orders[split][seed % orders[split].length];
};

const levelOf = (task: unknown): unknown =>
  typeof task === "object" && task !== null && "level" in task ? task.level : undefined;

/** The tasks of seeds; those of a level are split and shuffled apart. Throws an error for a level that no task names. */
export const rowOfLevel = (tasks: readonly unknown[]): TaskSource => {
  const all = rowOfSeed(splitTasks(tasks));
  const byLevel = new Map(
    [...Map.groupBy(tasks, levelOf)].map(([level, rows]) => [level, rowOfSeed(splitTasks(rows))] as const),
  );
  return (seed, split, level) => {
    const source = level === undefined ? all : byLevel.get(level);
    if (source === undefined) throw new Error(`tasks: none has the level ${JSON.stringify(level)} of agent.levels`);
    return source(seed, split);
  };
};

/** Reads a JSONL file. Throws an error that names the line that is none. */
export const parseTasks = (path: string, text: string): readonly unknown[] =>
  text.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    try {
      return [JSON.parse(line) as unknown];
    } catch {
      throw new Error(`tasks: ${path}:${at + 1}: no JSON: ${JSON.stringify(line.slice(0, 80))}`);
    }
  });

/** A function that gives the task of a seed. Rejects with a sentence where the tasks cannot be read. */
export const taskSource = async (path: string, { tasks }: Pick<Agent, "tasks">): Promise<TaskSource> => {
  if (typeof tasks === "function") return tasks;
  const file = typeof tasks === "string" ? resolve(dirname(path), tasks) : "";
  const text = () =>
    readFile(file, "utf8").catch(() => Promise.reject(new Error(`tasks: ${file}: no such file, or it cannot be read`)));
  const list = typeof tasks === "string" ? parseTasks(file, await text()) : tasks;
  if (list.length === 0) throw new Error(`tasks: ${file === "" ? "the list" : file} is empty`);
  return rowOfLevel(list);
};
