/**
 * Runs numbered items on several workers and uses their results in item order. A free worker takes the next item at once. Invariants: at
 * most `ahead` items are running or unused; after a failure no item begins, and it is passed on once no worker runs.
 */

export interface OrderedWork<Result> {
  /** Number of items; they are counted from 0. */
  readonly count: number;
  /** A worker that is listed twice has up to two items at once. */
  readonly workers: readonly ((item: number) => Promise<Result>)[];
  /** Most items that are running or wait to be used; at least 1. */
  readonly ahead: number;
  readonly use: (result: Result, item: number) => void;
}

/** Rejects with the failure of the first listed worker that failed. */
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
