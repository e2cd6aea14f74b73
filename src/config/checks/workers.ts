/** Checks of rollout workers on other machines. */
import { type Check, problemIf } from "./Check.ts";

const anyAddress = /^(0\.0\.0\.0|\[::\]):/;

export const workers: Check = ({ model: { learner }, pipeline: { mode, workers } }) => [
  ...problemIf(
    workers.url !== "" && learner.engine !== "local",
    () =>
      `pipeline.workers.url: ${workers.url}: workers are given the weights of a learner in this process, and model.learner.engine is ${learner.engine}; nearest: model.learner.engine=local, or no workers`,
  ),
  ...problemIf(
    workers.url !== "" && mode === "lockstep",
    () => "pipeline.mode: lockstep: every turn would wait for every machine; nearest under pipeline.workers.url: sync",
  ),
  ...problemIf(
    workers.url !== "" && workers.files_url === "" && anyAddress.test(workers.listen),
    () =>
      `pipeline.workers.files_url: workers cannot ask ${workers.listen}; name the address of this machine, as http://learner:4280`,
  ),
  ...problemIf(
    (workers.tls.cert === "") !== (workers.tls.key === ""),
    () => "pipeline.workers.tls: a certificate and its key go together; nearest: both or neither",
  ),
];
