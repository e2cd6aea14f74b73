/** Generator threads whose replies pin versions or are cancelled. A decode step takes 1 millisecond and one more for each row. */
import { describe, expect, it } from "vitest";
import { GeneratorThreads, type Sampled } from "../../../src/tools/simulation/GeneratorThreads.ts";
import { World } from "../../../src/tools/simulation/World.ts";

const threadIn = (world: World, slots: number) => {
  let version = 0;
  const decode = (rows: number): number => 1 + rows;
  const options = { threads: 1, shape: { slots, decode }, version: () => version };
  const thread = new GeneratorThreads(world, options).open();
  const adopt = (next: number): void => {
    version = next;
  };
  return { thread, adopt };
};

describe("a generator thread in virtual time", () => {
  it("decodes rows of two versions in turns, in steps of their own", () => {
    const world = new World({ cores: undefined, measured: false });
    const { adopt, thread } = threadIn(world, 4);
    adopt(5);
    const ended: (readonly [at: number, Sampled])[] = [];
    for (const version of [0, 1, 0, undefined]) {
      thread.reply({ prompt: 0, tokens: 3, version }, (sampled) => ended.push([world.agenda.now, sampled]));
    }
    world.agenda.run();
    // Each round has a step of two rows and two steps of one.
    expect(ended).toEqual([
      [17, [[0, 3]]],
      [17, [[0, 3]]],
      [19, [[1, 3]]],
      [21, [[5, 3]]],
    ]);
    expect(thread.decodeSteps).toBe(9);
  });

  it("takes the newest version for each token where none is pinned", () => {
    const world = new World({ cores: undefined, measured: false });
    const { adopt, thread } = threadIn(world, 1);
    const replies: Sampled[] = [];
    thread.reply({ prompt: 0, tokens: 3 }, (sampled) => replies.push(sampled));
    world.agenda.after(3, () => adopt(1));
    world.agenda.run();
    expect(replies).toEqual([
      [
        [0, 1],
        [1, 2],
      ],
    ]);
  });

  it("gives the row of a cancelled reply to the next one, and keeps its tokens counted", () => {
    const world = new World({ cores: undefined, measured: false });
    const { thread } = threadIn(world, 1);
    const ended: number[] = [];
    const fail = (): never => expect.fail("a cancelled reply has no end");
    const decoding = thread.reply({ prompt: 0, tokens: 100 }, fail);
    const waiting = thread.reply({ prompt: 0, tokens: 100 }, fail);
    thread.reply({ prompt: 0, tokens: 2 }, () => ended.push(world.agenda.now));
    world.agenda.after(5, () => {
      decoding.cancel();
      waiting.cancel();
    });
    world.agenda.run();
    // The step that was under way at 5 ends at 6, for nobody.
    expect(ended).toEqual([10]);
    expect([decoding.sampled, waiting.sampled]).toEqual([[[0, 2]], []]);
    expect(thread.generated).toBe(4);
  });
});
