/**
 * Recorded messages of openenv-core 0.3.0, which 0.2.3 repeats to the letter. A server of its `create_app` plays a walk along a line from -1 to 3
 * under seed 1, and its `GenericEnvClient` talks to it. `"nan"` answers with a reward that is not a number, `"boom"` raises.
 */

export const health = '{"status":"healthy"}';

/** The requests of a session, and each one's answer. */
export const session = [
  {
    sent: {
      type: "reset",
      data: { seed: 1, split: "train", instance: { seed: 1, purpose: "instance", counters: [] } },
    },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at -1; go to 3.","position":-1,"legal":["left","right"]},"reward":null,"done":false}}',
  },
  {
    sent: {
      type: "step",
      data: { move: "right", metadata: { noise: { seed: 1, purpose: "noise", counters: [0, 0] } } },
    },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at 0; go to 3.","position":0,"legal":["left","right"]},"reward":-0.1,"done":false}}',
  },
  {
    sent: { type: "step", data: { move: "nan", metadata: { noise: { seed: 1, purpose: "noise", counters: [0, 1] } } } },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at 0; go to 3.","position":0,"legal":["left","right"]},"reward":null,"done":false}}',
  },
  {
    sent: {
      type: "step",
      data: { move: "right", metadata: { noise: { seed: 1, purpose: "noise", counters: [0, 2] } } },
    },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at 1; go to 3.","position":1,"legal":["left","right"]},"reward":-0.1,"done":false}}',
  },
  {
    sent: {
      type: "step",
      data: { move: "right", metadata: { noise: { seed: 1, purpose: "noise", counters: [0, 3] } } },
    },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at 2; go to 3.","position":2,"legal":["left","right"]},"reward":-0.1,"done":false}}',
  },
  {
    sent: {
      type: "step",
      data: { move: "right", metadata: { noise: { seed: 1, purpose: "noise", counters: [0, 4] } } },
    },
    answer:
      '{"type":"observation","data":{"observation":{"text":"You stand at 3; go to 3.","position":3,"legal":["left","right"]},"reward":1.0,"done":true}}',
  },
  {
    sent: { type: "step", data: { go: "right" } },
    answer:
      '{"type":"error","data":{"message":"Invalid message","code":"VALIDATION_ERROR","errors":[{"type":"missing","loc":["move"],"msg":"Field required","input":{"go":"right"},"url":"https://errors.pydantic.dev/2.14/v/missing"},{"type":"extra_forbidden","loc":["go"],"msg":"Extra inputs are not permitted","input":"right","url":"https://errors.pydantic.dev/2.14/v/extra_forbidden"}]}}',
  },
  {
    sent: { type: "step", data: { move: "boom" } },
    answer: '{"type":"error","data":{"message":"the floor gave way","code":"EXECUTION_ERROR"}}',
  },
] as const;

/** The message to a socket for which the server has no session, before it is closed with 1000. */
export const full =
  '{"type":"error","data":{"message":"Server at capacity: 64/64 sessions active. Cannot accept new connections.","code":"CAPACITY_REACHED","active_sessions":64,"max_sessions":64}}';

/** The client's messages: two resets, a step from a dictionary and one from a typed action, a question and its goodbye. */
export const client = [
  '{"type": "reset", "data": {}}',
  '{"type": "reset", "data": {"seed": 10000, "episode_id": "e1"}}',
  '{"type": "step", "data": {"action": "Left"}}',
  '{"type": "step", "data": {"metadata": {}, "action": "Up"}}',
  '{"type": "state"}',
  '{"type": "close"}',
] as const;
