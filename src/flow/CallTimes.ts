/**
 * Times of a service's calls, by how many calls were in service when each began. A call's own time is measured, so a level's figure does
 * not depend on the levels before and after. Sums hold square roots of times, because long tails weigh less in them.
 */

/** Calls that began at about the same level. Sums since the stage was made. */
export interface LevelBand {
  /** Its number: bands are `WIDTH` wide, so that small levels have one each. */
  readonly band: number;
  readonly begun: number;
  readonly served: number;
  /** Sum of the levels of the served calls, and of the square roots of their milliseconds. */
  readonly levels: number;
  readonly roots: number;
}

/** A call in service. */
export interface CallStart {
  readonly since: number;
  readonly level: number;
}

const WIDTH = 1.06;

const bandOf = (level: number): number => Math.round(Math.log(level) / Math.log(WIDTH));

type Writable = { -readonly [Key in keyof LevelBand]: LevelBand[Key] };

const emptyBand = (band: number): Writable => ({ band, begun: 0, served: 0, levels: 0, roots: 0 });

export class CallTimes {
  readonly #bands: Writable[] = [];

  begin(level: number): void {
    this.#bandAt(level).begun++;
  }

  /** `ms` is the time of one item where a call has several. */
  end(level: number, ms: number): void {
    const band = this.#bandAt(level);
    band.served++;
    band.levels += level;
    band.roots += Math.sqrt(ms);
  }

  sample(): readonly LevelBand[] {
    return this.#bands.filter(({ begun }) => begun > 0).map((band) => ({ ...band }));
  }

  #bandAt(level: number): Writable {
    const index = bandOf(level);
    for (let band = this.#bands.length; band <= index; band++) this.#bands.push(emptyBand(band));
    return this.#bands[index]!;
  }
}

/** Calls that began and ended between two samples; bands without any are left out. */
export const callsBetween = (before: readonly LevelBand[], after: readonly LevelBand[]): readonly LevelBand[] => {
  const earlier = new Map(before.map((band) => [band.band, band]));
  return after.flatMap((band) => {
    const { begun, levels, roots, served } = earlier.get(band.band) ?? emptyBand(band.band);
    if (band.begun === begun && band.served === served) return [];
    return [
      {
        band: band.band,
        begun: band.begun - begun,
        served: band.served - served,
        levels: band.levels - levels,
        roots: band.roots - roots,
      },
    ];
  });
};
