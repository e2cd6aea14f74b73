/**
 * The parts of a run that stand on other machines, as data: generation servers, a training server, a broker and rollout workers. Each is known
 * by a name that holds no secret, and is in one state at a time.
 */

export type ServerRole = "generator" | "learner" | "broker" | "worker";

/** Times are Unix milliseconds. */
export type ServerState =
  | { readonly _tag: "Up" }
  /** It does not answer, or refuses for now; it is asked again. */
  | {
      readonly _tag: "Retrying";
      readonly since: number;
      /** Attempts that failed since then. */
      readonly attempt: number;
      /** When the next attempt begins. */
      readonly nextAt: number;
      readonly why: string;
    }
  /** It is not asked again by itself. */
  | { readonly _tag: "Lost"; readonly since: number; readonly why: string };

/** A server came into another state. */
export interface ServerChange {
  readonly role: ServerRole;
  /** Its address without credentials, or the name a worker has given itself. */
  readonly name: string;
  readonly state: ServerState;
}

/** Is told of every change. */
export type TellServer = (change: ServerChange) => void;
