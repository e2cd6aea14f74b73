/** The section `pipeline.workers`: rollout workers on other machines, their broker, and the learner's file server. */
import { Schema } from "effect";
import { field, optionalPath, section, whole } from "../field.ts";

/** The broker's address. It holds no name or password, which every reader of the run file would see. */
const brokerUrl = Schema.String.check(
  Schema.makeFilter((text) => text === "" || /^(nats|tls):\/\/[^\s/?#@,]+:\d{1,5}$/.test(text), {
    expected: "an address without a name or password, as nats://host:4222 or tls://host:4222, or nothing",
  }),
);

const hostAndPort = Schema.String.check(
  Schema.makeFilter((text) => /^(\[[0-9a-f:]+\]|[^\s/?#@,:]+):\d{1,5}$/i.test(text), {
    expected: "an address and a port, as 127.0.0.1:0",
  }),
);

const filesUrl = Schema.String.check(
  Schema.makeFilter((text) => text === "" || /^https?:\/\/[^\s/?#@]+$/.test(text), {
    expected: "an address, as http://learner:4280, or nothing",
  }),
);

const variable = Schema.String.check(
  Schema.makeFilter((text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text), {
    expected: "the name of an environment variable; the secret itself stays out of the run file",
  }),
);

const TlsSection = Schema.Struct({
  ca: field(optionalPath, "", "File of the certificate authorities that verify the broker; empty uses the system's."),
  cert: field(
    optionalPath,
    "",
    "Certificate file that the learner presents to the broker, and its file server to workers.",
  ),
  key: field(optionalPath, "", "File of the private key of pipeline.workers.tls.cert."),
});

export const WorkersSection = Schema.Struct({
  url: field(
    brokerUrl,
    "",
    "NATS server with JetStream that hands groups to workers (docs/remote.md); empty plays all groups in this process.",
  ),
  listen: field(
    hostAndPort,
    "127.0.0.1:0",
    "Address and port on which the learner serves model and weights over HTTP; port 0 takes any free one.",
  ),
  files_url: field(
    filesUrl,
    "",
    "Address under which workers reach the learner's file server; empty is pipeline.workers.listen.",
  ),
  lease_ms: field(
    whole(200, 600_000),
    10_000,
    "Silence after which a worker loses its groups to others; after three of them the learner itself takes over.",
  ),
  local: field(Schema.Boolean, true, "Play training groups on this machine as well; validation is always played here."),
  user_env: field(variable, "MILLRACE_NATS_USER", "Environment variable with the learner's user name at the broker."),
  password_env: field(
    variable,
    "MILLRACE_NATS_PASSWORD",
    "Environment variable with the learner's password at the broker.",
  ),
  token_env: field(
    variable,
    "MILLRACE_NATS_TOKEN",
    "Environment variable with the broker's token, instead of a user name and password.",
  ),
  files_token_env: field(
    variable,
    "MILLRACE_TOKEN",
    "Environment variable with the token that workers send to the file server.",
  ),
  tls: section(TlsSection, "TLS certificates of the broker and the file server."),
});
