/**
 * What is held against instances: steps that hung or ended their thread, and steps that are suspected of it. Invariants: after `limit`
 * offences an instance is quarantined for good; while its suspects could still bring it there, its other requests are held until one of
 * them is judged, so that no more than `limit` of an instance's steps are ever tried at once. A pure state machine but for its latch.
 */
import { Latch } from "effect";
import { type Request, tagOf } from "../contract/Request.ts";

/** Instances that are remembered, those judged last; the others may offend anew. */
const remembered = 10_000;

export type Verdict = "innocent" | "guilty";
/** `held` until `judged` opens. */
export type Status =
  | { readonly _tag: "Free" }
  | { readonly _tag: "Quarantined"; readonly offences: number }
  | { readonly _tag: "Held"; readonly judged: Latch.Latch };

interface Record {
  suspects: number;
  offences: number;
  judged: Latch.Latch;
}

const free: Status = { _tag: "Free" };

/** The instance of a request; null where the caller names none. */
export const instanceOf = (request: Request): string | null => {
  if (request._tag === "Step") {
    const { instance } = request.step;
    return instance === undefined ? null : `${tagOf(request)} ${instance}`;
  }
  const { instance, split } = request.reset;
  return `${tagOf(request)} reset ${split} ${instance.purpose} ${instance.seed} ${instance.counters.join(".")}`;
};

export class Docket {
  readonly #limit: number;
  readonly #records = new Map<string, Record>();
  #quarantined = 0;

  /** Without a limit (0) nothing is held or quarantined. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Instances quarantined so far. */
  quarantined(): number {
    return this.#quarantined;
  }

  status(request: Request): Status {
    // Most runs have no record at all, and need no key.
    if (this.#limit === 0 || this.#records.size === 0) return free;
    const key = instanceOf(request);
    const record = key === null ? undefined : this.#records.get(key);
    if (record === undefined) return free;
    const { judged, offences, suspects } = record;
    if (offences >= this.#limit) return { _tag: "Quarantined", offences };
    return suspects > 0 && offences + suspects >= this.#limit ? { _tag: "Held", judged } : free;
  }

  suspect(request: Request): void {
    const key = instanceOf(request);
    if (key === null) return;
    const record = this.#records.get(key) ?? { suspects: 0, offences: 0, judged: Latch.makeUnsafe(false) };
    record.suspects++;
    this.#records.set(key, record);
  }

  /** Ends what `suspect` began. */
  judge(request: Request, verdict: Verdict): void {
    const key = instanceOf(request);
    const record = key === null ? undefined : this.#records.get(key);
    if (key === null || record === undefined) return;
    record.suspects--;
    if (verdict === "guilty" && ++record.offences === this.#limit) this.#quarantined++;
    const { judged } = record;
    record.judged = Latch.makeUnsafe(false);
    this.#records.delete(key);
    if (record.suspects > 0 || record.offences > 0) this.#records.set(key, record);
    this.#forget();
    judged.openUnsafe();
  }

  #forget(): void {
    if (this.#records.size <= remembered) return;
    for (const [key, { suspects }] of this.#records) {
      if (suspects > 0) continue;
      this.#records.delete(key);
      return;
    }
  }
}
