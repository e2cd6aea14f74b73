/** The streams that the requests of a fake policy name, as `purpose counters`. */
import type { FakePolicy } from "./fakes.ts";

export const keysOf = ({ requests }: FakePolicy): readonly string[] =>
  requests.map(({ key }) => `${key.purpose} ${key.counters.join(".")}`);
