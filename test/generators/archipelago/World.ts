/**
 * Draws the facts of the Ostrel Isles, one consistent world. Invariants: nobody teaches before the age of 15 or
 * after death, works and buildings lie within their makers' lives, figures that a question compares are all different.
 */
import type { Random } from "../../../src/domain/Random.ts";
import * as words from "./names.ts";

export interface Island {
  readonly name: string;
  readonly chain: "northern" | "southern";
  readonly export: string;
  readonly climate: string;
  /** Square kilometres. */
  readonly area: number;
  readonly settled: number;
}

export interface Town {
  readonly name: string;
  readonly island: Island;
  readonly capital: boolean;
  readonly knownFor: string;
  readonly population: number;
  readonly founded: number;
  readonly market: string;
}

export interface Person {
  readonly name: string;
  readonly occupation: words.Occupation;
  readonly born: number;
  readonly died: number;
  readonly birthplace: Town;
  readonly home: Town;
  readonly teacher: Person | null;
  readonly fame: string;
}

export interface Mountain {
  readonly name: string;
  readonly island: Island;
  /** Metres. */
  readonly height: number;
  readonly climber: Person;
  readonly climbed: number;
}

export interface River {
  readonly name: string;
  readonly source: Mountain;
  readonly mouth: Town;
  /** Kilometres. */
  readonly length: number;
}

export interface Work {
  readonly title: string;
  readonly subject: string;
  readonly author: Person;
  readonly year: number;
  /** The town in which it hangs, was first performed, or was printed. */
  readonly place: Town;
}

export interface Building {
  readonly name: string;
  readonly kind: string;
  readonly measure: "long" | "tall" | "wide";
  readonly metres: number;
  readonly architect: Person;
  readonly town: Town;
  readonly completed: number;
}

export interface Ship {
  readonly name: string;
  readonly rig: string;
  readonly deed: string;
  readonly captain: Person;
  readonly builtIn: Town;
  readonly launched: number;
  readonly lostOff: Island;
  readonly lost: number;
}

export interface Species {
  readonly name: string;
  readonly trait: string;
  readonly island: Island;
  readonly naturalist: Person;
  readonly described: number;
}

export interface Festival {
  readonly name: string;
  readonly town: Town;
  readonly month: string;
  readonly custom: string;
  readonly food: string;
}

export interface World {
  readonly islands: readonly Island[];
  readonly towns: readonly Town[];
  readonly people: readonly Person[];
  readonly mountains: readonly Mountain[];
  readonly rivers: readonly River[];
  readonly works: readonly Work[];
  readonly buildings: readonly Building[];
  readonly ships: readonly Ship[];
  readonly species: readonly Species[];
  readonly festivals: readonly Festival[];
}

/** Both ends belong to it. */
const between = (draws: Random, least: number, most: number): number => least + draws.int(most - least + 1);

/** Different figures: one from each of `count` equal parts of the range, in any order. */
const spread = (draws: Random, count: number, least: number, most: number): readonly number[] => {
  const part = Math.floor((most - least + 1) / count);
  return draws.shuffle(Array.from({ length: count }, (_, index) => least + index * part + draws.int(part)));
};

/** A year of a grown person's life. */
const yearOf = (draws: Random, { born, died }: Person): number => between(draws, born + 22, died - 1);

const makeIslands = (draws: Random): readonly Island[] => {
  const areas = spread(draws, words.islands.length, 90, 990);
  const years = spread(draws, words.islands.length, 1210, 1330);
  return words.islands.map(({ chain, climate, export: goods, name }, index) => ({
    name,
    chain,
    export: goods,
    climate,
    area: areas[index]!,
    settled: years[index]!,
  }));
};

const makeTowns = (draws: Random, islands: readonly Island[]): readonly Town[] =>
  islands.flatMap((island, index) =>
    words.islands[index]!.towns.map((name, place) => ({
      name,
      island,
      capital: place === 0,
      knownFor: words.trades[2 * index + place]!,
      population: 100 * between(draws, place === 0 ? 60 : 8, place === 0 ? 240 : 55),
      founded: island.settled + between(draws, 2 + 30 * place, 25 + 30 * place),
      market: draws.pick(words.weekdays),
    })),
  );

/** Six lives of one occupation, about twenty years apart; each but the first learns from one of the two before. */
const makeMasters = (
  draws: Random,
  occupation: words.Occupation,
  from: number,
  towns: readonly Town[],
): readonly Person[] => {
  const masters: Person[] = [];
  for (const [index, name] of words.people[occupation].entries()) {
    const born = from + 20 * index + draws.int(5);
    masters.push({
      name,
      occupation,
      born,
      died: born + between(draws, 60, 82),
      birthplace: draws.pick(towns),
      home: draws.pick(towns),
      teacher: index === 0 ? null : draws.pick(masters.slice(-2)),
      fame: words.fames[occupation][index]!,
    });
  }
  return masters;
};

export const makeWorld = (draws: Random): World => {
  const islands = makeIslands(draws);
  const towns = makeTowns(draws, islands);
  const people = words.occupations.flatMap((occupation, index) =>
    makeMasters(draws, occupation, 1561 + 3 * index, towns),
  );
  const withOccupation = (occupation: words.Occupation) => people.filter((person) => person.occupation === occupation);
  const climbers = draws.shuffle([...withOccupation("navigator"), ...withOccupation("naturalist")]);
  const heights = spread(draws, islands.length, 310, 2110);
  const mountains = islands.map((island, index): Mountain => {
    const climber = climbers[index]!;
    const name = words.islands[index]!.mountain;
    return { name, island, height: heights[index]!, climber, climbed: yearOf(draws, climber) };
  });
  const rivers = mountains.map(
    (source, index): River => ({
      name: words.islands[index]!.river,
      source,
      mouth: towns[2 * index + draws.int(2)]!,
      length: between(draws, 9, 64),
    }),
  );
  const works = (["painter", "composer", "writer"] as const).flatMap((occupation) =>
    withOccupation(occupation).map(
      (author, index): Work => ({
        ...words.works[occupation][index]!,
        author,
        year: yearOf(draws, author),
        place: draws.pick(towns),
      }),
    ),
  );
  const sites = draws.shuffle(towns);
  const buildings = words.buildings.map((building, index): Building => {
    const architect = withOccupation("architect")[Math.floor(index / 2)]!;
    const metres = between(draws, building.measure === "long" ? 60 : 18, building.measure === "long" ? 240 : 55);
    return { ...building, metres, architect, town: sites[index]!, completed: yearOf(draws, architect) };
  });
  const ships = words.ships.map((ship, index): Ship => {
    const captain = withOccupation("navigator")[index]!;
    const launched = between(draws, captain.born + 24, captain.born + 40);
    return {
      ...ship,
      captain,
      builtIn: draws.pick(towns),
      launched,
      lostOff: draws.pick(islands),
      lost: launched + between(draws, 6, 30),
    };
  });
  const habitats = draws.shuffle(islands);
  const species = words.species.map((kind, index): Species => {
    const naturalist = withOccupation("naturalist")[Math.floor(index / 2)]!;
    return { ...kind, island: habitats[index]!, naturalist, described: yearOf(draws, naturalist) };
  });
  const squares = draws.shuffle(towns);
  const times = draws.shuffle(words.months);
  const festivals = words.festivals.map(
    (festival, index): Festival => ({ ...festival, town: squares[index]!, month: times[index]! }),
  );
  return { islands, towns, people, mountains, rivers, works, buildings, ships, species, festivals };
};
