/**
 * The names under which a run's messages go through a NATS server. Pure. Invariants: two runs share no name; a worker's results and gauges carry
 * its own name in their subject, so that the server's permissions say who may send under it.
 */
import { createHash } from "node:crypto";

export interface Names {
  /** Streams: leases, results, and the newest description and announcement. */
  readonly work: string;
  readonly results: string;
  readonly state: string;
  /** Consumers: that of leases, which all workers share, and the learner's of results. */
  readonly workers: string;
  readonly learner: string;
  readonly subjects: {
    readonly work: string;
    readonly about: string;
    readonly weights: string;
    readonly result: (worker: string) => string;
    readonly gauges: (worker: string) => string;
  };
}

/** Whoever asks here is told by every learner which run it trains. */
export const DISCOVERY = "millrace.runs";

/** A run's name as one token of a subject; a name with other characters gets a mark that keeps it apart. */
export const tokenOf = (run: string): string => {
  const token = run.replace(/[^\w-]+/g, "_").slice(0, 60);
  return token === run ? run : `${token}-${createHash("sha256").update(run).digest("hex").slice(0, 8)}`;
};

export const workerForm = /^[A-Za-z0-9_-]{1,60}$/;

export const namesOf = (run: string): Names => {
  const token = tokenOf(run);
  const prefix = `millrace.${token}`;
  return {
    work: `MILLRACE_${token}_WORK`,
    results: `MILLRACE_${token}_RESULTS`,
    state: `MILLRACE_${token}_STATE`,
    workers: "workers",
    learner: "learner",
    subjects: {
      work: `${prefix}.work`,
      about: `${prefix}.about`,
      weights: `${prefix}.weights`,
      result: (worker) => `${prefix}.result.${worker}`,
      gauges: (worker) => `${prefix}.gauges.${worker}`,
    },
  };
};

/** The last token of a subject. */
export const senderOf = (subject: string): string => subject.slice(subject.lastIndexOf(".") + 1);
/** Where the server sends a worker's answers: a place of its own, so that no worker reads another's. */
export const inboxOf = (worker: string): string => `_INBOX_${worker}`;
