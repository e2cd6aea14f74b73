/**
 * The view of episodes. Its address is `#/episodes` with a search as one part after it. For a shown group, the address has its
 * split, step and number, and the member to begin with.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { EpisodeCard } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { type Route, format as routeFormat, to } from "../route.ts";
import { useLoad } from "../useLoad.ts";
import { Group } from "./Group.ts";
import { Guarded } from "./Guarded.ts";
import { List } from "./List.ts";
import { format, parse, queryOf, type Search } from "./Search.ts";
import { SearchForm } from "./SearchForm.ts";

/** The view's request. */
export type EpisodesApi = Pick<Client, "episodes" | "group" | "line" | "scenes">;

export interface EpisodesProps {
  readonly api: EpisodesApi;
  /** Id of the run. */
  readonly run: string;
  /** The shown moment, milliseconds since the Unix epoch; null for the newest. */
  readonly at: number | null;
  readonly route: Route;
  /** Newest step that has episodes; the list is requested again when it changes. */
  readonly newest?: number | null;
}

const problem = (error: string | null) => (error === null ? null : html`<p class="problem" role="alert">${error}</p>`);

const Searched = ({ api, at, newest = null, route, run }: EpisodesProps) => {
  const search = parse(route.parts[0] ?? "");
  const moment = useLoad(at === null ? null : (signal) => api.line(run, at, signal), [run, at]);
  const upTo = at === null ? null : (moment.value?.step ?? null);
  const ready = at === null || moment.value !== null || moment.error !== null;
  const request = ready ? (signal: AbortSignal) => api.episodes(run, queryOf(search, upTo), signal) : null;
  const { error, loading, value } = useLoad(request, [run, format(search), upTo, at === null ? newest : null]);
  const scenes = useLoad((signal) => api.scenes(run, signal), [run]);
  const change = (values: Partial<Search>): void => {
    const text = format({ ...search, ...values });
    location.hash = to(route, "episodes", ...(text === "" ? [] : [text]));
  };
  const address = ({ group, member, split, step }: EpisodeCard): string =>
    to(route, "episodes", split, String(step), String(group), String(member));
  const seenTags = [...Object.keys(scenes.value ?? {}), ...(value?.episodes ?? []).map(({ tag }) => tag)];
  const tags = [...new Set(search.tag === null ? seenTags : [...seenTags, search.tag])];
  return html`<div class="episodes" aria-busy=${loading}>
    <${SearchForm} search=${search} tags=${tags} change=${change} />
    ${problem(error ?? moment.error)}
    ${value === null ? null : html`<${List} page=${value} search=${search} change=${change} address=${address} />`}
  </div>`;
};

const Chosen = ({ api, route, run }: EpisodesProps) => {
  const [split = "", step = "", group = "", member] = route.parts;
  const request = (signal: AbortSignal) => api.group(run, split, Number(step), Number(group), signal);
  const { error, loading, value } = useLoad(request, [run, split, step, group], { fresh: true });
  const scenes = useLoad((signal) => api.scenes(run, signal), [run]);
  const first = member === undefined ? null : Number(member);
  const back = routeFormat({ ...route, parts: [] });
  return html`<div class="episodes" aria-busy=${loading}>
    <p><a href=${back}>All episodes</a></p>
    ${problem(error)}
    ${value === null || (scenes.value === null && scenes.error === null) ? null : html`<${Guarded} key=${route.parts.join("/")}><${Group} records=${value} scenes=${scenes.value ?? {}} first=${first} /><//>`}
  </div>`;
};

export const Episodes = (props: EpisodesProps): VNode =>
  (props.route.parts.length >= 3 ? html`<${Chosen} ...${props} />` : html`<${Searched} ...${props} />`) as VNode;
