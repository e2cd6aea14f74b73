/**
 * Writes a world as a library: one short document about each thing, and a few about the whole. Every sentence states facts of the world.
 * Where a question needs two documents, the first does not have the answer.
 */
import type { Document } from "../../../src/env/games/search/Documents.ts";
import type { Occupation } from "./names.ts";
import type { Building, Festival, Island, Mountain, Person, River, Ship, Species, Town, Work, World } from "./World.ts";

export const archipelago = "Ostrel Isles";

/** Ids are names in lower case with hyphens. */
export const idOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/'/g, "")
    .match(/[a-z0-9]+/g)!
    .join("-");

/** A number with separated thousands. */
export const figure = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

const surname = (person: Person): string => person.name.split(" ").at(-1)!;

export const article = (noun: string): string => (/^[aeiou]/i.test(noun) ? `an ${noun}` : `a ${noun}`);

/** One of several wordings; neighbours in a list get different ones. */
type Telling<A> = (thing: A, world: World) => string;

const islandTellings: readonly Telling<Island>[] = [
  (island, world) => {
    const [capital, other] = townsOf(world, island);
    return (
      `${island.name} is an island in the ${island.chain} chain of the ${archipelago}. It covers ${figure(island.area)} square ` +
      `kilometres. Its capital is ${capital.name}, and its other town is ${other.name}. The highest mountain of ${island.name} is ` +
      `${mountainOf(world, island).name}. People have lived on the island since the year ${island.settled}. The climate is ` +
      `${island.climate}. The chief export of ${island.name} is ${island.export}.`
    );
  },
  (island, world) => {
    const [capital, other] = townsOf(world, island);
    return (
      `The island of ${island.name} belongs to the ${island.chain} chain of the ${archipelago} and has an area of ` +
      `${figure(island.area)} square kilometres. There are two towns on it: ${capital.name}, which is the capital, and ` +
      `${other.name}. The first settlers landed on ${island.name} in ${island.settled}. Its weather is ${island.climate}. ` +
      `${mountainOf(world, island).name} is its highest mountain. ${island.name} lives mostly on its chief export, ` +
      `which is ${island.export}.`
    );
  },
];

const townTellings: readonly Telling<Town>[] = [
  (town, world) =>
    `${town.name} is ${town.capital ? "the capital" : "the smaller town"} of the island of ${town.island.name}. It was founded in ` +
    `${town.founded} and has about ${figure(town.population)} inhabitants. ${town.name} is known for ${town.knownFor}. ` +
    `The market of ${town.name} is held every ${town.market}.${portSentence(town, world)}`,
  (town, world) =>
    `The town of ${town.name} lies on the island of ${town.island.name}, ${town.capital ? "whose capital it is" : "far from its capital"}. ` +
    `About ${figure(town.population)} people live there. Since its foundation in ${town.founded} it has had a market ` +
    `every ${town.market}. Travellers come to ${town.name} for ${town.knownFor}.${portSentence(town, world)}`,
];

const portSentence = (town: Town, world: World): string =>
  world.rivers.some(({ mouth }) => mouth === town)
    ? " The town grew around the mouth of a river."
    : " The town has no river, and its water comes from wells.";

const mountainTellings: readonly Telling<Mountain>[] = [
  ({ climbed, climber, height, island, name }) =>
    `${name} is the highest mountain of the island of ${island.name}. Its summit stands ${figure(height)} metres above the sea. ` +
    `The first to climb ${name} was the ${climber.occupation} ${climber.name}, in ${climbed}. In clear weather ` +
    `one can see ships from the top.`,
  ({ climbed, climber, height, island, name }) =>
    `With a height of ${figure(height)} metres ${name} is the highest point of ${island.name}. The ${climber.occupation} ` +
    `${climber.name} reached the summit first, in ${climbed}. A path of stone steps leads up to a hut below the top of ${name}.`,
];

const riverTellings: readonly Telling<River>[] = [
  ({ length, mouth, name, source }) =>
    `The ${name} is a river of the ${archipelago}. It rises on ${source.name} and flows for ${length} kilometres. The ${name} ` +
    `reaches the sea at ${mouth.name}. Its water is used by mills and by washing houses.`,
  ({ length, mouth, name, source }) =>
    `The river ${name} is ${length} kilometres long. Its springs lie on ${source.name}. At the town of ${mouth.name} the ${name} ` +
    `flows into the sea. Boats can go up the river as far as the first fall.`,
];

const learning: Readonly<Record<Occupation, string>> = {
  painter: "learned to paint",
  composer: "learned to compose",
  architect: "learned to build",
  navigator: "learned to navigate",
  naturalist: "learned to collect and to draw",
  writer: "learned to write",
};

const personTellings: readonly Telling<Person>[] = [
  ({ birthplace, born, died, fame, home, name, occupation, teacher }) =>
    `${name} was ${article(occupation)} of the ${archipelago}, born in ${birthplace.name} in ${born}. ` +
    `${teacher === null ? `${name} had no teacher` : `${name} studied under ${teacher.name}`} and is remembered for ${fame}. ` +
    `${name} lived in ${home.name} in later years and died there in ${died}.`,
  (person) =>
    `The ${person.occupation} ${person.name} was born in ${person.born}, in the town of ${person.birthplace.name}. ` +
    `${surname(person)} ${learning[person.occupation]} ${person.teacher === null ? "without a teacher" : `as a pupil of ${person.teacher.name}`} ` +
    `and became known for ${person.fame}. ${surname(person)} died in ${person.home.name} in ${person.died}.`,
];

const workTelling: Telling<Work> = ({ author, place, subject, title, year }) => {
  switch (author.occupation) {
    case "painter":
      return (
        `${title} is a painting by ${author.name}, finished in ${year}. It shows ${subject}. The picture hangs in the ` +
        `town gallery of ${place.name}, where it has a room of its own.`
      );
    case "composer":
      return (
        `${title} is an opera by ${author.name}. It was first performed in ${place.name} in ${year}. The opera tells of ${subject}. ` +
        `It is still sung every year.`
      );
    default:
      return (
        `${title} is a novel by ${author.name}. It was printed in ${place.name} in ${year}. The novel is about ${subject}. ` +
        `Most schools of the isles read it.`
      );
  }
};

const buildingTellings: readonly Telling<Building>[] = [
  ({ architect, completed, kind, measure, metres, name, town }) =>
    `The ${name} is ${article(kind)} in ${town.name}. It was designed by ${architect.name} and completed in ${completed}. ` +
    `The ${name} is ${metres} metres ${measure}.`,
  ({ architect, completed, kind, measure, metres, name, town }) =>
    `In ${town.name} stands the ${name}, ${article(kind)} that is ${metres} metres ${measure}. Its architect was ` +
    `${architect.name}, who saw it completed in ${completed}. Part of the ${name} is open to visitors.`,
];

const shipTelling: Telling<Ship> = ({ builtIn, captain, deed, launched, lost, lostOff, name, rig }) =>
  `The ${name} was ${article(rig)} built in ${builtIn.name} and launched in ${launched}. Under its captain ${captain.name} the ${name} ` +
  `${deed}. It was lost in a storm off ${lostOff.name} in ${lost}.`;

const speciesTellings: readonly Telling<Species>[] = [
  ({ described, island, name, naturalist, trait }) =>
    `The ${name} lives only on the island of ${island.name}. It was described in ${described} by the naturalist ${naturalist.name}. ${trait}`,
  ({ described, island, name, naturalist, trait }) =>
    `The ${name} is found on ${island.name} and nowhere else. ${trait} The first description of the ${name} was given by the naturalist ` +
    `${naturalist.name} in ${described}.`,
];

const festivalTelling: Telling<Festival> = ({ custom, food, month, name, town }) =>
  `The ${name} is a festival held in ${town.name} every ${month}. ${custom} Visitors eat ${food}.`;

export const townsOf = (world: World, island: Island): readonly [capital: Town, other: Town] => {
  const [first, second] = world.towns.filter((town) => town.island === island);
  return [first!, second!];
};

export const mountainOf = (world: World, island: Island): Mountain =>
  world.mountains.find((mountain) => mountain.island === island)!;

const largest = <A>(items: readonly A[], measure: (item: A) => number): A =>
  items.reduce((best, item) => (measure(item) > measure(best) ? item : best));

/** Facts of the general documents, for the questions. */
export const general = {
  council: (world: World): Town => world.towns[2]!,
  mint: (world: World): Town => world.towns[14]!,
  college: (world: World): Town => world.towns[8]!,
  collegeFounded: 1487,
  currency: "shell",
  ferryFrom: (world: World): Town => world.towns[16]!,
  ferrySince: 1602,
  language: "Ostrellic",
  gale: 1655,
} as const;

const generalDocuments = (world: World): readonly Document[] => {
  const wide = largest(world.islands, ({ area }) => area);
  const high = largest(world.mountains, ({ height }) => height);
  const big = largest(world.towns, ({ population }) => population);
  const old = world.islands.reduce((first, island) => (island.settled < first.settled ? island : first));
  const northern = world.islands.filter(({ chain }) => chain === "northern").length;
  return [
    {
      title: archipelago,
      text:
        `The ${archipelago} are an archipelago of ${world.islands.length} inhabited islands, ${northern} of them in the northern chain and ` +
        `${world.islands.length - northern} in the southern. The largest island is ${wide.name}. The highest mountain of the archipelago is ` +
        `${high.name}, and its most populous town is ${big.name}. The first island to be settled was ${old.name}.`,
    },
    {
      title: "Council of the Isles",
      text:
        `The Council of the Isles governs the ${archipelago}. Each island sends three members. The council meets in ` +
        `${general.council(world).name} twice a year, in spring and in autumn. Its members speak standing and vote by moving to ` +
        `one side of the hall.`,
    },
    {
      title: "Shell (currency)",
      text:
        `The shell is the currency of the ${archipelago}. One shell is divided into 24 pips. The coins are struck in the mint of ` +
        `${general.mint(world).name}; there are no banknotes. Prices in the markets are still called out in pips.`,
    },
    {
      title: "College of Tides",
      text:
        `The College of Tides is the oldest university of the ${archipelago}. It was founded in ${general.collegeFounded} and stands in ` +
        `${general.college(world).name}. It teaches navigation, medicine and law. Its students wear grey caps.`,
    },
    {
      title: "Grey Ferry Line",
      text:
        `The Grey Ferry Line connects all islands of the ${archipelago}. Its ferries sail from ${general.ferryFrom(world).name} and have done ` +
        `so since ${general.ferrySince}. A ticket is valid for one tide. The ferries do not sail on the longest night of the year.`,
    },
    {
      title: general.language,
      text:
        `${general.language} is the language spoken in the ${archipelago}. It has four cases and no future tense: speakers say what ` +
        `the tide will bring. The northern dialect has lost the letter h, and the southern one doubles its vowels.`,
    },
    {
      title: `Great Gale of ${general.gale}`,
      text:
        `The Great Gale of ${general.gale} was the worst storm in the history of the ${archipelago}. It blew for three days and carried ` +
        `away eleven lighthouses. After it the council ordered that every harbour keep a storm bell.`,
    },
    {
      title: "Calendar of the Isles",
      text:
        `In the ${archipelago} a year begins on the first spring tide. Weeks have six days, from Monday to Saturday, and ` +
        `the days between two tides that belong to no week are called loose days. Nobody has to work on a loose day.`,
    },
  ].map(({ text, title }) => ({ id: idOf(title), title, text }));
};

/** One document of each thing. Tellings change in pairs of twos, so that they say nothing of a thing's place in a pair. */
const documentPerThing = <A>(
  things: readonly A[],
  title: (thing: A) => string,
  tellings: readonly Telling<A>[],
  world: World,
): readonly Document[] =>
  things.map((thing, index) => ({
    id: idOf(title(thing)),
    title: title(thing),
    text: tellings[(index + (index >> 1)) % tellings.length]!(thing, world),
  }));

export const documentsOf = (world: World): readonly Document[] => {
  const named = ({ name }: { readonly name: string }): string => name;
  return [
    ...generalDocuments(world),
    ...documentPerThing(world.islands, named, islandTellings, world),
    ...documentPerThing(world.towns, named, townTellings, world),
    ...documentPerThing(world.mountains, named, mountainTellings, world),
    ...documentPerThing(world.rivers, ({ name }) => `${name} (river)`, riverTellings, world),
    ...documentPerThing(world.people, named, personTellings, world),
    ...documentPerThing(world.works, ({ title }) => title, [workTelling], world),
    ...documentPerThing(world.buildings, named, buildingTellings, world),
    ...documentPerThing(world.ships, ({ name }) => `${name} (ship)`, [shipTelling], world),
    ...documentPerThing(world.species, named, speciesTellings, world),
    ...documentPerThing(world.festivals, named, [festivalTelling], world),
  ];
};
