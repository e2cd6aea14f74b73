/** One episode of a group: turn by turn, or the calls of an agent as a tree. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { EpisodeRecord } from "../../../../domain/EpisodeRecord.ts";
import type { Scene } from "../../Api.ts";
import { count, number } from "../format.ts";
import { Calls } from "./Calls.ts";
import { countMemberTokens, countMemberTurns, countSequenceTurns, type Member, outcomeText } from "./members.ts";
import { Raw } from "./Raw.ts";
import type { Scale } from "./shade.ts";
import { statesOf, type TurnStates } from "./states.ts";
import { Turn } from "./Turn.ts";
import { hasCalls } from "./tree.ts";

interface EpisodeProps {
  readonly member: Member;
  readonly scene: Scene | null;
  readonly scale: Scale | null;
}

interface TurnsProps {
  /** Turns of the episode before these. */
  readonly from: number;
  readonly record: EpisodeRecord;
  readonly states: readonly TurnStates[];
  readonly scale: Scale | null;
}

const Turns = ({ from, record, scale, states }: TurnsProps) => {
  const replies = record.messages.filter(({ role }) => role === "assistant");
  return html`${record.turns.map((turn, at) => {
    const { after, before } = states[at]!;
    const reply = replies[at]?.content ?? "";
    const title = record.summary ? "Summary of the turns so far" : `Turn ${from + at + 1}`;
    return html`<${Turn} key=${at} title=${title} turn=${turn} before=${before} after=${after} reply=${reply} scale=${scale} />`;
  })}`;
};

/** The turns of all token sequences, those of a summary included. */
const Played = ({ member: { sequences }, scale, scene }: EpisodeProps) => {
  const states = statesOf(scene, sequences);
  const starts = sequences.map((_, at) =>
    sequences.slice(0, at).reduce((sum, sequence) => sum + countSequenceTurns(sequence), 0),
  );
  return sequences.map(
    (sequence, at) => html`
      ${sequences.length > 1 ? html`<h4 class="sequence">Token sequence ${at + 1}</h4>` : null}
      <${Turns} key=${at} from=${starts[at] ?? 0} record=${sequence} states=${states[at]} scale=${scale} />
    `,
  );
};

/** Figures of an agent's episode: its calls, and the numbers that the agent reported of the whole episode. */
const AgentFacts = ({ member }: Pick<EpisodeProps, "member">) => {
  const discarded = member.sequences.filter((sequence) => sequence.discarded).length;
  const [first] = member.record.turns;
  return html`<span class="fact quiet">${count(countMemberTurns(member), "call")}, ${count(countMemberTokens(member), "token")}</span>
    ${discarded === 0 ? null : html`<span class="fact warn">${count(discarded, "more call")} not trained</span>`}
    ${Object.entries(first?.info ?? {}).map(([name, value]) => html`<span key=${name} class="fact quiet">${name} ${number(value)}</span>`)}`;
};

export const Episode = ({ member, scale, scene }: EpisodeProps): VNode => {
  const { record, sequences } = member;
  const isAgent = hasCalls(sequences);
  return html`<article class="episode" aria-label=${`Episode ${member.member}`}>
    <header class="facts">
      <span class=${`fact ${record.success ? "good" : "bad"}`}>${record.success ? "success" : "no success"}</span>
      <span class="fact">reward ${number(record.reward)}</span>
      ${record.penalty === 0 ? null : html`<span class="fact bad">penalty ${number(record.penalty)}</span>`}
      ${record.score === undefined ? null : html`<span class="fact" title="with the penalty, normalised: what the update sees">score ${number(record.score)}</span>`}
      ${isAgent ? html`<${AgentFacts} member=${member} />` : html`<span class="fact quiet">${count(countMemberTurns(member), "turn")}, ${count(countMemberTokens(member), "token")}</span>`}
      <span class=${`fact ${record.outcome._tag === "Done" ? "quiet" : "warn"}`}>${outcomeText(record.outcome, isAgent ? "agent" : "environment")}</span>
    </header>
    ${isAgent ? html`<${Calls} sequences=${sequences} scale=${scale} />` : html`<${Played} member=${member} scale=${scale} scene=${scene} />`}
    <${Raw} records=${sequences} />
  </article>` as VNode;
};
