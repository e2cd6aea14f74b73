/**
 * The configuration of a nats-server for one run. The learner may do everything in its account. A worker may take, end and return leases,
 * send results and gauges under its own name, and follow the learner's messages. Invariant: this covers all that `nats/NatsWorker.ts` does,
 * and no worker can write another's data.
 */
import { DISCOVERY_SUBJECT, inboxPrefix, namesOf } from "./nats/names.ts";

export interface BrokerConfig {
  readonly run: string;
  readonly workers: readonly string[];
  /** `host:port` to listen on. */
  readonly listen: string;
  /** Folder of the server's streams. */
  readonly store: string;
}

/** Subjects that a worker may publish and subscribe to. */
export const workerPermissions = (run: string, worker: string) => {
  const { stateStream: state, subjects, workStream: work, workersConsumer: workers } = namesOf(run);
  return {
    publish: [
      DISCOVERY_SUBJECT,
      subjects.result(worker),
      subjects.gauges(worker),
      `$JS.API.CONSUMER.INFO.${work}.${workers}`,
      `$JS.API.CONSUMER.MSG.NEXT.${work}.${workers}`,
      `$JS.API.DIRECT.GET.${state}.${subjects.about}`,
      `$JS.API.DIRECT.GET.${state}.${subjects.weights}`,
      `$JS.ACK.${work}.${workers}.>`,
    ],
    subscribe: [`${inboxPrefix(worker)}.>`, subjects.about, subjects.weights],
  };
};

/** The environment variable that holds a user's password. */
export const passwordVariable = (user: string): string => `${user.toUpperCase().replaceAll("-", "_")}_PASSWORD`;

const list = (subjects: readonly string[]): string => subjects.map((subject) => JSON.stringify(subject)).join(", ");

const workerBlock = (run: string, worker: string): string => {
  const { publish, subscribe } = workerPermissions(run, worker);
  return `    {
      user: ${JSON.stringify(worker)}, password: $${passwordVariable(worker)}
      permissions: {
        publish: { allow: [${list(publish)}] }
        subscribe: { allow: [${list(subscribe)}] }
      }
    }`;
};

/** The text of the server's configuration file. */
export const renderServerConfig = ({
  listen,
  run,
  store,
  workers,
}: BrokerConfig): string => `# nats-server for the run ${JSON.stringify(run)}: nats-server -c THIS_FILE
# Passwords come from the environment of the server, and begin with a letter.
listen: ${JSON.stringify(listen)}
jetstream { store_dir: ${JSON.stringify(store)} }
authorization {
  users = [
    { user: "learner", password: $${passwordVariable("learner")} }
${workers.map((worker) => workerBlock(run, worker)).join("\n")}
  ]
}
`;
