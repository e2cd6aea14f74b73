/**
 * The configuration of a nats-server for one run: a learner that may do what it likes in its account, and workers each of which may ask for leases,
 * end those, send results and gauges under its own name, and follow what the learner announces. Pure. Invariant: nothing that the worker's
 * side does (`nats/NatsWorker.ts`) needs a right that is not here, and no worker can write what is not its own.
 */
import { DISCOVERY, inboxOf, namesOf } from "./nats/names.ts";

export interface BrokerPlan {
  readonly run: string;
  readonly workers: readonly string[];
  /** `host:port` to listen on. */
  readonly listen: string;
  /** Folder of what is kept. */
  readonly store: string;
}

/** What a worker may publish and subscribe to. */
export const rightsOf = (run: string, worker: string) => {
  const { state, subjects, work, workers } = namesOf(run);
  return {
    publish: [
      DISCOVERY,
      subjects.result(worker),
      subjects.gauges(worker),
      `$JS.API.CONSUMER.INFO.${work}.${workers}`,
      `$JS.API.CONSUMER.MSG.NEXT.${work}.${workers}`,
      `$JS.API.DIRECT.GET.${state}.${subjects.about}`,
      `$JS.API.DIRECT.GET.${state}.${subjects.weights}`,
      `$JS.ACK.${work}.${workers}.>`,
    ],
    subscribe: [`${inboxOf(worker)}.>`, subjects.about, subjects.weights],
  };
};

/** The environment variable that holds a user's password. */
export const passwordOf = (user: string): string => `${user.toUpperCase().replaceAll("-", "_")}_PASSWORD`;

const list = (subjects: readonly string[]): string => subjects.map((subject) => JSON.stringify(subject)).join(", ");

const workerBlock = (run: string, worker: string): string => {
  const { publish, subscribe } = rightsOf(run, worker);
  return `    {
      user: ${JSON.stringify(worker)}, password: $${passwordOf(worker)}
      permissions: {
        publish: { allow: [${list(publish)}] }
        subscribe: { allow: [${list(subscribe)}] }
      }
    }`;
};

/** The text of the server's configuration file. */
export const render = ({
  listen,
  run,
  store,
  workers,
}: BrokerPlan): string => `# nats-server for the run ${JSON.stringify(run)}: nats-server -c THIS_FILE
# Passwords come from the environment of the server, and begin with a letter.
listen: ${JSON.stringify(listen)}
jetstream { store_dir: ${JSON.stringify(store)} }
authorization {
  users = [
    { user: "learner", password: $${passwordOf("learner")} }
${workers.map((worker) => workerBlock(run, worker)).join("\n")}
  ]
}
`;
