/**
 * The state of the page in its address: the view, the run, the shown moment and the runs laid over it. Invariant:
 * `parse(format(route))` is the route, and any text parses to a route.
 */
export const views = ["summary", "line", "curves", "filter", "episodes", "runs"] as const;
export type View = (typeof views)[number];

export interface Route {
  /** Null where the address names none: a run that goes on is shown by its line, one that is over by its summary. */
  readonly view: View | null;
  /** The part of the path after the view, decoded. */
  readonly parts: readonly string[];
  /** Id of the current run; null: the newest. */
  readonly run: string | null;
  /** Milliseconds since the Unix epoch; null: live. */
  readonly at: number | null;
  /** Runs laid over the current one. */
  readonly over: readonly string[];
}

export const home: Route = { view: null, parts: [], run: null, at: null, over: [] };

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const isView = (text: string | undefined): text is View => views.some((view) => view === text);

export const parse = (hash: string): Route => {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [view, ...parts] = path.split("/").filter((part) => part !== "");
  const search = new URLSearchParams(query);
  const at = Number(search.get("at") ?? Number.NaN);
  return {
    view: isView(view) ? view : home.view,
    parts: isView(view) ? parts.map(decoded) : [],
    run: search.get("run"),
    at: Number.isFinite(at) && at > 0 ? at : null,
    over: [...new Set(search.getAll("over"))],
  };
};

/** The hash of a route, with its `#`. */
export const format = ({ at, over, parts, run, view }: Route): string => {
  const path = [view ?? "", ...parts.map(encodeURIComponent)].join("/");
  const search = new URLSearchParams();
  if (run !== null) search.set("run", run);
  if (at !== null) search.set("at", String(Math.round(at)));
  for (const id of over) search.append("over", id);
  const query = search.toString();
  return `#/${path}${query === "" ? "" : `?${query}`}`;
};

/** The hash of another view of the same run and moment. */
export const to = (route: Route, view: View | null, ...parts: readonly string[]): string =>
  format({ ...route, view, parts });
