/**
 * The parts of a run that stand on other machines, as data: generation servers, a training server, a broker and rollout workers. Each is known
 * by a name that holds no secret, and is in one state at a time.
 */

export const roles = ["generator", "learner", "broker", "worker"] as const;

/** The part of a run that a server plays. */
export type ServerRole = (typeof roles)[number];

/** The state of a server. Times are Unix milliseconds. */
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
  | { readonly _tag: "Lost"; readonly since: number; readonly why: string }
  /** It sent impossible results so often that it is given nothing more. */
  | { readonly _tag: "ShutOut"; readonly since: number; readonly why: string };

/** A server came into another state. */
export interface ServerChange {
  readonly role: ServerRole;
  /** Its address without credentials, or the name a worker has given itself. */
  readonly name: string;
  readonly state: ServerState;
}

/** Is told of every change. */
export type ReportServer = (change: ServerChange) => void;

/** The state of every server after one more change; in the order in which they were first heard of. */
export const withServerChange = (servers: readonly ServerChange[], change: ServerChange): readonly ServerChange[] => {
  const isSameServer = ({ name, role }: ServerChange): boolean => name === change.name && role === change.role;
  const { name, role, state } = change;
  const updated: ServerChange = { role, name, state };
  return servers.some(isSameServer)
    ? servers.map((server) => (isSameServer(server) ? updated : server))
    : [...servers, updated];
};

/** The servers that do not answer. */
export const unavailable = (servers: readonly ServerChange[]): readonly ServerChange[] =>
  servers.filter(({ state }) => state._tag !== "Up");
