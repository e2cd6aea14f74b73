/**
 * Numbered items run by several workers, their results used in the order of the items. A worker takes the next item as soon as it is
 * free, so none idles while another has more to do than expected.
 * Invariants: `use` is called in the order of the items, whichever worker made the result; the results held and the items running are
 * together at most `ahead`; when a worker fails, no other item is begun, and the failure is passed on once no worker is running.
 */

export interface OrderedWork<Result> {
  /** Items 0 to `count` - 1. */
  readonly count: number;
  /** A worker that is listed twice has up to two items at once. */
  readonly workers: readonly ((item: number) => Promise<Result>)[];
  /** At least 1. */
  readonly ahead: number;
  readonly use: (result: Result, item: number) => void;
}

/** Rejects with the failure of the first worker of the list that failed. */
export const runInOrder = async <Result>({ count, workers, ahead, use }: OrderedWork<Result>): Promise<void> => {
  const early = new Map<number, { readonly result: Result }>();
  let begun = 0;
  let used = 0;
  let failed = false;
  let progress = Promise.withResolvers<void>();
  const wake = (): void => {
    progress.resolve();
    progress = Promise.withResolvers();
  };
  const useReady = (): void => {
    for (let next = early.get(used); next !== undefined; next = early.get(used)) {
      early.delete(used);
      use(next.result, used);
      used++;
    }
    wake();
  };
  const work = async (worker: (item: number) => Promise<Result>): Promise<void> => {
    while (!failed && begun < count) {
      const item = begun++;
      while (!failed && item >= used + ahead) await progress.promise;
      if (failed) return;
      try {
        early.set(item, { result: await worker(item) });
      } catch (error) {
        failed = true;
        wake();
        throw error;
      }
      useReady();
    }
  };
  for (const outcome of await Promise.allSettled(workers.map(work))) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
};
