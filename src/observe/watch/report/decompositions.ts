/** The norms of the gradient's parts by bucket of reward variance and step, from the curves of `grad_norm/…`. Pure. */
import type { Curves } from "../Api.ts";
import { type Decomposition, type Part, parts } from "../page/report/ReportData.ts";

const norm = /^grad_norm\/(bucket_\d+|all)\/(task|entropy|kl)$/;

/** The `names` of such norms. */
export const normNames = (names: readonly string[]): readonly string[] => names.filter((name) => norm.test(name));

const order = (bucket: string): number => (bucket === "all" ? Number.POSITIVE_INFINITY : Number(bucket.slice(7)));

/** At most `most` of the items, evenly chosen, including the first and the last. */
const evenly = <A>(items: readonly A[], most: number): readonly A[] =>
  items.length <= most
    ? items
    : Array.from({ length: most }, (_, i) => items[Math.round((i * (items.length - 1)) / (most - 1))]!);

/** The decompositions of at most `most` analysed steps. Buckets ascend by variance, with the whole batch last. */
export const decompositionsOf = ({ series, steps }: Curves, most: number): readonly Decomposition[] => {
  const norms = series.flatMap(({ mean, name }) => {
    const [, bucket, part] = norm.exec(name) ?? [];
    return bucket === undefined ? [] : [{ bucket, part: parts.find((one) => one === part), mean }];
  });
  const buckets = [...new Set(norms.map(({ bucket }) => bucket))].toSorted((a, b) => order(a) - order(b));
  const at = (index: number, bucket: string, part: Part): number | null =>
    norms.find((one) => one.bucket === bucket && one.part === part)?.mean[index] ?? null;
  const all = steps.map(
    (step, index): Decomposition => ({
      step,
      buckets: buckets.map((name) => ({
        name,
        task: at(index, name, "task"),
        entropy: at(index, name, "entropy"),
        kl: at(index, name, "kl"),
      })),
    }),
  );
  const measured = all.filter(({ buckets }) => buckets.some((bucket) => parts.some((part) => bucket[part] !== null)));
  return evenly(measured, most);
};
