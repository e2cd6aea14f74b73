/** Rollout workers on other machines: the broker that carries groups, and where the learner serves its weights. */
import { Schema } from "effect";
import { field, optionalPath, section, whole } from "../field.ts";

/** An address of the broker; a name and a password would be read by everyone who reads the run file. */
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
  ca: field(
    optionalPath,
    "",
    "File of the authorities that the broker's certificate is checked by; empty, the system's.",
  ),
  cert: field(
    optionalPath,
    "",
    "File of the certificate that the learner shows to the broker, and its files' server to workers.",
  ),
  key: field(optionalPath, "", "File of its key."),
});

export const WorkersSection = Schema.Struct({
  url: field(
    brokerUrl,
    "",
    "NATS server with JetStream that hands groups to workers (docs/remote.md); empty, all groups are played in this process.",
  ),
  listen: field(
    hostAndPort,
    "127.0.0.1:0",
    "Where the learner serves model and weights over HTTP; port 0 takes any free one.",
  ),
  files_url: field(filesUrl, "", "Address under which workers reach that server; empty, the one it listens on.."),
  lease_ms: field(
    whole(200, 600_000),
    10_000,
    "A worker that says nothing for so long loses its groups to others; three such times, and the learner looks after them itself.",
  ),
  local: field(
    Schema.Boolean,
    true,
    "Whether this machine plays groups of training, too; validation is always played here.",
  ),
  user_env: field(variable, "MILLRACE_NATS_USER", "Environment variable with the learner's name at the broker."),
  password_env: field(variable, "MILLRACE_NATS_PASSWORD", "Environment variable with its password."),
  token_env: field(
    variable,
    "MILLRACE_NATS_TOKEN",
    "Environment variable with a token, in place of name and password.",
  ),
  files_token_env: field(
    variable,
    "MILLRACE_TOKEN",
    "Environment variable with the token that workers send for files.",
  ),
  tls: section(TlsSection, "Certificates."),
});
