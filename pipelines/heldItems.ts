/** Items of a run as an async iterable for one reader, who may come late. */

/** Items that are held for a reader. */
const mostHeld = 1_000;

/** A source of items, and what its reader gets. */
export interface HeldItems<Item> {
  readonly push: (item: Item) => void;
  /** Ends when `ended` resolves, and throws what it rejects with. */
  readonly items: AsyncIterable<Item>;
}

/** Holds items until they are read; of more than 1 000 the oldest go. */
export const heldItems = <Item>(ended: Promise<unknown>): HeldItems<Item> => {
  const queue: Item[] = [];
  let wake: () => void = () => undefined;
  let isOver = false;
  const push = (item: Item): void => {
    queue.push(item);
    if (queue.length > mostHeld) queue.shift();
    wake();
  };
  const over = (): void => {
    isOver = true;
    wake();
  };
  ended.then(over, over);
  const items = (async function* () {
    for (;;) {
      const item = queue.shift();
      if (item !== undefined) yield item;
      else if (isOver) break;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    await ended;
  })();
  return { push, items };
};
