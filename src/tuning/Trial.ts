/**
 * A trial of one change. What a service stage gives is the calls that its slots answer in the time they are busy: that shows a change's worth in
 * a few blocks, also while windows pause or bunch. A stage without service times of its own is held to the run's pace. The trial ends as soon
 * as the noise allows.
 */
import * as Paces from "./Paces.ts";
import type { Proposal } from "./Proposal.ts";
import type { StageLoad } from "./StageLoad.ts";

/** What a block shows of the stage on trial: its yield, and the pace of the run. */
export interface Block {
  /** Calls per millisecond of slot-time times slots; null where the stage had no work. */
  readonly yields: number | null;
  readonly pace: number;
}

export interface Trial {
  readonly proposal: Proposal;
  readonly before: readonly Block[];
  readonly after: readonly Block[];
  /** While the run is explored, growth for which work waits stays unless it harms. */
  readonly eager: boolean;
  /** Service time of the stage before it: so long, calls that began before the change take to be gone. */
  readonly turnMs: number;
}

export type Verdict =
  | { readonly _tag: "Undecided" }
  | { readonly _tag: "Pays" | "DoesNotPay"; readonly gain: number; readonly error: number };

/** A change must gain this share. */
const PAYS = 0.03;
/** A loss of pace that makes a growth not pay, whatever the stage itself gives. */
const HARM = -0.1;
/** Blocks of a trial at most, while the run is explored and later. */
const MOST = { eager: 5, calm: 10 };
/** Blocks without work after which a trial is given up. */
const IDLE = 25;
/** Share of slots in use that shows their service time under load. */
const IN_WORK = 0.5;

/** Slots that have or could have work: those in use, and those that waiting calls would take. */
const inUse = ({ concurrency, queue, running }: StageLoad): number => Math.min(concurrency, running + queue);

/**
 * What a block says of the stage: growth must be used; less is judged by its service times, as if all its slots had work. Blocks that leave most
 * of them idle tell nothing of that.
 */
export const blockOf = (load: StageLoad | undefined, pace: number, { direction, used }: Proposal): Block => {
  if (load === undefined || load.kind === "flow" || load.items === 0) return { yields: null, pace };
  if (direction === "up") return { yields: inUse(load) / load.serviceMs, pace };
  const slots = Math.min(load.concurrency, used);
  return { yields: load.running < IN_WORK * slots ? null : slots / load.serviceMs, pace };
};

const yieldsOf = (blocks: readonly Block[]): Paces.Paces =>
  Paces.of(blocks.map(({ yields }) => yields).filter((one): one is number => one !== null));
const pacesOf = (blocks: readonly Block[]): Paces.Paces => Paces.of(blocks.map(({ pace }) => pace));

const judge = ({ error, gain }: Paces.Change, count: number, most: number, least: number): Verdict => {
  if (count < 2) return { _tag: "Undecided" };
  if (gain - 2 * error > PAYS) return { _tag: "Pays", gain, error };
  if (gain + 2 * error < least) return { _tag: "DoesNotPay", gain, error };
  if (count < most) return { _tag: "Undecided" };
  return { _tag: gain > least ? "Pays" : "DoesNotPay", gain, error };
};

export const verdict = ({ after, before, eager, proposal }: Trial): Verdict => {
  const most = eager ? MOST.eager : MOST.calm;
  const pace = Paces.change(pacesOf(before), pacesOf(after));
  const [worked, works] = [yieldsOf(before), yieldsOf(after)];
  if (worked.count === 0) return judge(pace, after.length, most, eager ? 2 * HARM : PAYS);
  if (works.count === 0) {
    return after.length < IDLE ? { _tag: "Undecided" } : { _tag: "DoesNotPay", ...pace };
  }
  const own = judge(Paces.change(worked, works), works.count, most, PAYS);
  const harms = proposal.direction === "up" && pace.gain + 2 * pace.error < HARM;
  return own._tag === "Pays" && harms ? { _tag: "DoesNotPay", ...pace } : own;
};
