/**
 * Maps the actions that a reply names to the environment's, without regard to case, and cuts them to the episode's limit. Pure. Invariant:
 * actions cut by a limit are never penalised; unknown or missing actions are penalised once a turn.
 */

export interface MappedActions {
  /** Legal actions in canonical spelling, in order, before the episode's limit. */
  readonly actions: readonly string[];
  /** The first of them that fit into what the episode has left. */
  readonly executable: readonly string[];
  /** Some action was unknown, or none was legal: the format penalty applies. */
  readonly penalised: boolean;
  /** Nothing was legal, so the state stays as it is. */
  readonly invalid: boolean;
}

/**
 * Maps `named` to the names in `legal` (null: free text, everything counts as legal).
 * @param left environment actions the episode may still take
 */
export const mapActions = (named: readonly string[], legal: readonly string[] | null, left: number): MappedActions => {
  let actions = named;
  if (legal !== null) {
    const canonical = new Map(legal.map((name) => [name.toLowerCase(), name]));
    actions = named.flatMap((name) => canonical.get(name.toLowerCase()) ?? []);
  }
  const invalid = actions.length === 0;
  return { actions, executable: actions.slice(0, left), penalised: invalid || actions.length < named.length, invalid };
};
