/**
 * Draws a hundred questions about a world, each with its accepted answers and the documents that hold them, in the order in which a
 * reader needs them. Every answer is computed from the world's facts.
 */
import type { Random } from "../../../src/domain/Random.ts";
import { figure, general, idOf, mountainOf, townsOf } from "./documents.ts";
import type { Person, World } from "./World.ts";

export interface ArchipelagoQuestion {
  readonly question: string;
  /** Accepted forms, the fullest first. */
  readonly ground_truth: readonly string[];
  /** Ids of the documents that hold the answer. */
  readonly evidence: readonly string[];
}

const questionOf = (
  question: string,
  truth: string | readonly string[],
  ...titles: readonly string[]
): ArchipelagoQuestion => ({
  question,
  ground_truth: typeof truth === "string" ? [truth] : truth,
  evidence: titles.map(idOf),
});

const yesNo = (holds: boolean): string => (holds ? "yes" : "no");

const metres = (value: number): readonly string[] => [`${figure(value)} metres`, figure(value), `${figure(value)} m`];

const river = (name: string): string => `${name} (river)`;
const ship = (name: string): string => `${name} (ship)`;

/** A kind of question: everything it could ask, and how many of them are taken. */
type Kind = readonly [count: number, all: readonly ArchipelagoQuestion[]];

const oneDocument = (world: World): readonly Kind[] => [
  [
    4,
    world.islands.map((island) =>
      questionOf(`What is the capital of ${island.name}?`, townsOf(world, island)[0].name, island.name),
    ),
  ],
  [4, world.mountains.map(({ height, name }) => questionOf(`How high is ${name}?`, metres(height), name))],
  [
    4,
    world.rivers.map(({ mouth, name }) =>
      questionOf(`At which town does the ${name} reach the sea?`, mouth.name, river(name)),
    ),
  ],
  [4, world.buildings.map(({ architect, name }) => questionOf(`Who designed the ${name}?`, architect.name, name))],
  [
    3,
    world.buildings.map(({ completed, name }) =>
      questionOf(`In what year was the ${name} completed?`, String(completed), name),
    ),
  ],
  [4, world.species.map(({ name, naturalist }) => questionOf(`Who described the ${name}?`, naturalist.name, name))],
  [
    3,
    world.ships.map(({ builtIn, name }) => questionOf(`Where was the ship ${name} built?`, builtIn.name, ship(name))),
  ],
  [3, world.festivals.map(({ month, name }) => questionOf(`In which month is the ${name} held?`, month, name))],
  [
    4,
    pupils(world).map(({ name, occupation, teacher }) =>
      questionOf(`Under whom did the ${occupation} ${name} study?`, teacher!.name, name),
    ),
  ],
  [
    3,
    [
      questionOf(
        "What is the currency of the Ostrel Isles?",
        [`the ${general.currency}`, "shells"],
        "Shell (currency)",
      ),
      questionOf(
        "In which town does the Council of the Isles meet?",
        general.council(world).name,
        "Council of the Isles",
      ),
      questionOf("In what year was the College of Tides founded?", String(general.collegeFounded), "College of Tides"),
      questionOf(
        "From which town do the ferries of the Grey Ferry Line sail?",
        general.ferryFrom(world).name,
        "Grey Ferry Line",
      ),
    ],
  ],
];

const pupils = ({ people }: World): readonly Person[] => people.filter(({ teacher }) => teacher !== null);

const maker: Readonly<Record<string, string>> = { painter: "painter", composer: "composer", writer: "author" };

const twoDocuments = (world: World): readonly Kind[] => [
  [
    8,
    world.people.map(({ birthplace, name, occupation }) =>
      questionOf(`On which island was the ${occupation} ${name} born?`, birthplace.island.name, name, birthplace.name),
    ),
  ],
  [
    8,
    world.works.map(({ author, title }) =>
      questionOf(
        `In which town was the ${maker[author.occupation]} of ${title} born?`,
        author.birthplace.name,
        title,
        author.name,
      ),
    ),
  ],
  [
    5,
    world.works
      .filter(({ author }) => author.teacher !== null)
      .map(({ author, title }) =>
        questionOf(`Who taught the ${maker[author.occupation]} of ${title}?`, author.teacher!.name, title, author.name),
      ),
  ],
  [
    6,
    world.species.map(({ island, name }) =>
      questionOf(
        `What is the capital of the island on which the ${name} lives?`,
        townsOf(world, island)[0].name,
        name,
        island.name,
      ),
    ),
  ],
  [
    5,
    world.rivers.map(({ name, source }) =>
      questionOf(
        `How high is the mountain on which the ${name} rises?`,
        metres(source.height),
        river(name),
        source.name,
      ),
    ),
  ],
  [
    4,
    world.festivals.map(({ name, town }) =>
      questionOf(`On which island is the ${name} held?`, town.island.name, name, town.name),
    ),
  ],
  [
    5,
    world.buildings.map(({ name, town }) =>
      questionOf(`On which island does the ${name} stand?`, town.island.name, name, town.name),
    ),
  ],
  [
    3,
    world.ships.map(({ captain, name }) =>
      questionOf(
        `In what year was the captain of the ship ${name} born?`,
        String(captain.born),
        ship(name),
        captain.name,
      ),
    ),
  ],
  [
    4,
    world.islands.map((island) => {
      const { name } = mountainOf(world, island);
      return questionOf(
        `What is the chief export of the island whose highest mountain is ${name}?`,
        island.export,
        name,
        island.name,
      );
    }),
  ],
];

/** Every pair of different items, in an order that the draws choose. */
const pairs = <A>(items: readonly A[], draws: Random): ReadonlyArray<readonly [A, A]> =>
  items.flatMap((one, at) =>
    items.slice(at + 1).map((two) => (draws.int(2) === 0 ? ([one, two] as const) : ([two, one] as const))),
  );

const comparisons = (world: World, draws: Random): readonly Kind[] => {
  const sameTown = pairs(world.people, draws).map(([one, two]) =>
    questionOf(
      `Were ${one.name} and ${two.name} born in the same town?`,
      yesNo(one.birthplace === two.birthplace),
      one.name,
      two.name,
    ),
  );
  return [
    [
      5,
      pairs(world.mountains, draws).map(([one, two]) =>
        questionOf(`Is ${one.name} higher than ${two.name}?`, yesNo(one.height > two.height), one.name, two.name),
      ),
    ],
    [
      5,
      pairs(world.people, draws)
        .filter(([one, two]) => one.born !== two.born)
        .map(([one, two]) =>
          questionOf(
            `Who was born first, ${one.name} or ${two.name}?`,
            one.born < two.born ? one.name : two.name,
            one.name,
            two.name,
          ),
        ),
    ],
    [
      3,
      pairs(world.islands, draws).map(([one, two]) =>
        questionOf(
          `Which island is larger, ${one.name} or ${two.name}?`,
          one.area > two.area ? one.name : two.name,
          one.name,
          two.name,
        ),
      ),
    ],
    // Most pairs are of different towns, so both answers are taken apart.
    [2, sameTown.filter(({ ground_truth: [truth] }) => truth === "yes")],
    [1, sameTown.filter(({ ground_truth: [truth] }) => truth === "no")],
  ];
};

export const questionsOf = (world: World, draws: Random): readonly ArchipelagoQuestion[] => {
  const kinds = [...oneDocument(world), ...twoDocuments(world), ...comparisons(world, draws)];
  return draws.shuffle(kinds.flatMap(([count, all]) => draws.shuffle(all).slice(0, count)));
};
