import { Deferred, Effect } from "effect";
import { expect, it } from "vitest";
import { EpisodeAccount, type EpisodeEnd } from "../../../src/agents/host/EpisodeAccount.ts";

const end = (more: Partial<EpisodeEnd> = {}): EpisodeEnd => ({ status: "done", message: "", outcome: {}, ...more });
const resultOf = (account: EpisodeAccount) => Effect.runPromise(Effect.result(Deferred.await(account.ended)));

it("ends with the rewards that were set, the last of each counting", async () => {
  const account = new EpisodeAccount();
  expect(account.rewards).toBeNull();
  account.setReward(0, 1);
  account.setReward(0, 2);
  account.setReward(null, 3);
  expect(account.reportEnd(end())).toBeNull();
  expect(await resultOf(account)).toMatchObject({ success: { rewards: { whole: 3, calls: new Map([[0, 2]]) } } });
});

it("takes the same end twice, and no other one after it", async () => {
  const account = new EpisodeAccount();
  const first = end({ outcome: { reward: 1 } });
  expect([account.reportEnd(first), account.reportEnd({ ...first })]).toEqual([null, null]);
  expect(account.reportEnd(end({ outcome: { reward: 0 } }))).toBe("this episode has ended otherwise before");
  expect(await resultOf(account)).toMatchObject({ success: { rewards: { whole: 1 } } });
});

it("does not end without a reward, and can then be given one", async () => {
  const account = new EpisodeAccount();
  expect(account.reportEnd(end())).toBe("its outcome has neither reward nor turns");
  expect(account.end).toBeNull();
  expect(account.reportEnd(end({ outcome: { reward: 1 } }))).toBeNull();
});

it.each([
  ["failed", "agent_error"],
  ["aborted", "agent_aborted"],
] as const)("fails its episode where it %s", async (status, reason) => {
  const account = new EpisodeAccount();
  account.reportEnd(end({ status, message: "the judge broke" }));
  expect(await resultOf(account)).toMatchObject({ failure: { reason, message: "the judge broke" } });
});
