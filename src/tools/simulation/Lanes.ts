/** An update whose micro-batches are shared by lanes: each lane takes the next one as soon as it is free. The lanes' number changes between updates only. */
import type { LanesShape } from "./RunShape.ts";
import type { World } from "./World.ts";

export class Lanes {
  readonly #world: World;
  readonly #shape: LanesShape;
  #lanes: number;

  constructor(world: World, shape: LanesShape) {
    this.#world = world;
    this.#shape = shape;
    this.#lanes = shape.lanes;
  }

  resize(lanes: number): void {
    this.#lanes = lanes;
  }

  update(window: number, done: () => void): void {
    this.#world.work("lane", this.#shape.rest?.(window) ?? 0, () => this.#pass(window, done));
  }

  #pass(window: number, done: () => void): void {
    const count = this.#shape.micros(window);
    let begun = 0;
    let left = count;
    if (count === 0) {
      done();
      return;
    }
    const work = (): void => {
      if (begun >= count) return;
      this.#world.work("lane", this.#shape.micro(window, begun++), () => {
        left--;
        if (left === 0) done();
        else work();
      });
    };
    for (let lane = 0; lane < this.#lanes; lane++) work();
  }
}
