/**
 * Names of a run's streams, consumers and subjects on a NATS server. Invariants: two runs share no name; the subject of a worker's results
 * and gauges ends in its name, so that the server's permissions decide who may send under it.
 */
import { createHash } from "node:crypto";

export interface NatsNames {
  /** Streams of leases, of results, and of the newest description and announcement. */
  readonly workStream: string;
  readonly resultStream: string;
  readonly stateStream: string;
  /** The consumer of leases that all workers share, and the learner's consumer of results. */
  readonly workersConsumer: string;
  readonly learnerConsumer: string;
  readonly subjects: {
    readonly work: string;
    readonly about: string;
    readonly weights: string;
    readonly result: (worker: string) => string;
    readonly gauges: (worker: string) => string;
  };
}

/** Every learner answers requests to this subject with the run that it trains. */
export const DISCOVERY_SUBJECT = "millrace.runs";

/** A run's name as one part of a subject. A name with other characters gets a hash that keeps it apart. */
export const subjectToken = (run: string): string => {
  const token = run.replace(/[^\w-]+/g, "_").slice(0, 60);
  return token === run ? run : `${token}-${createHash("sha256").update(run).digest("hex").slice(0, 8)}`;
};

export const workerNamePattern = /^[A-Za-z0-9_-]{1,60}$/;

export const namesOf = (run: string): NatsNames => {
  const token = subjectToken(run);
  const prefix = `millrace.${token}`;
  return {
    workStream: `MILLRACE_${token}_WORK`,
    resultStream: `MILLRACE_${token}_RESULTS`,
    stateStream: `MILLRACE_${token}_STATE`,
    workersConsumer: "workers",
    learnerConsumer: "learner",
    subjects: {
      work: `${prefix}.work`,
      about: `${prefix}.about`,
      weights: `${prefix}.weights`,
      result: (worker) => `${prefix}.result.${worker}`,
      gauges: (worker) => `${prefix}.gauges.${worker}`,
    },
  };
};

/** The sender's name: the last part of a subject. */
export const senderOf = (subject: string): string => subject.slice(subject.lastIndexOf(".") + 1);
/** Prefix of the subjects that a worker receives answers on; no worker may read another's. */
export const inboxPrefix = (worker: string): string => `_INBOX_${worker}`;
