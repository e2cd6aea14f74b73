/**
 * The words of the Ostrel Isles, an invented archipelago: names and properties that `World` relates. All of it is invented, so that no
 * model knows an answer before it searches.
 */

interface IslandWords {
  readonly name: string;
  readonly chain: "northern" | "southern";
  readonly export: string;
  readonly climate: string;
  /** The capital first. */
  readonly towns: readonly [string, string];
  readonly mountain: string;
  readonly river: string;
}

export const islands: readonly IslandWords[] = [
  {
    name: "Vandry",
    chain: "northern",
    export: "dried herring",
    climate: "cool and windy for most of the year",
    towns: ["Aldermouth", "Wickenport"],
    mountain: "Mount Averil",
    river: "Ashwater",
  },
  {
    name: "Tholm",
    chain: "northern",
    export: "grey wool",
    climate: "wet, with mild winters",
    towns: ["Greyhithe", "Sallow Ford"],
    mountain: "Mount Tessaly",
    river: "Thrane",
  },
  {
    name: "Pellawin",
    chain: "southern",
    export: "pear brandy",
    climate: "warm and dry in summer",
    towns: ["Pellagate", "Orchard Rise"],
    mountain: "Hollin Peak",
    river: "Pellbrook",
  },
  {
    name: "Karrow",
    chain: "northern",
    export: "black slate",
    climate: "harsh, with heavy snow from November on",
    towns: ["Coalharbour", "Emberlyn"],
    mountain: "Mount Corvane",
    river: "Cinderbeck",
  },
  {
    name: "Immerfold",
    chain: "southern",
    export: "linen",
    climate: "foggy in spring and clear in autumn",
    towns: ["Foldhaven", "Mistley Cross"],
    mountain: "Cindertop",
    river: "Immer",
  },
  {
    name: "Sarrin",
    chain: "southern",
    export: "copper ore",
    climate: "hot, with short storms",
    towns: ["Sarrinstead", "Copperhithe"],
    mountain: "Mount Ishara",
    river: "Sarrabourne",
  },
  {
    name: "Brinquay",
    chain: "southern",
    export: "sea salt",
    climate: "sunny and almost without frost",
    towns: ["Saltmarket", "Heronsby"],
    mountain: "Brisk Tor",
    river: "Quaylet",
  },
  {
    name: "Lowmere",
    chain: "northern",
    export: "reed baskets",
    climate: "damp, with long mild autumns",
    towns: ["Reedmarsh", "Tarnwick"],
    mountain: "Mount Lowen",
    river: "Lowbourne",
  },
  {
    name: "Ondavi",
    chain: "southern",
    export: "saffron",
    climate: "the warmest of all the isles",
    towns: ["Larkspur", "Davenhall"],
    mountain: "Sunfell",
    river: "Ondal",
  },
  {
    name: "Dunoway",
    chain: "northern",
    export: "building stone",
    climate: "dry, because the hills hold back the rain",
    towns: ["Stonewater", "Bracken Hill"],
    mountain: "Dun Spire",
    river: "Stannow",
  },
  {
    name: "Ysselby",
    chain: "southern",
    export: "window glass",
    climate: "gentle, with steady western winds",
    towns: ["Glassport", "Nettlegrove"],
    mountain: "Mount Yarrow",
    river: "Yselle",
  },
  {
    name: "Marrask",
    chain: "northern",
    export: "lamp oil",
    climate: "cold, and the bays freeze every winter",
    towns: ["Frostgate", "Whalers Rest"],
    mountain: "Icehorn",
    river: "Marl",
  },
];

/** The trades that towns are known for; one each, in the order of the islands' towns. */
export const trades: readonly string[] = [
  "its smokehouses",
  "its sail lofts",
  "its weavers' row",
  "its old toll bridge",
  "its terraced gardens",
  "its cider cellars",
  "its coal piers",
  "its blacksmiths",
  "its covered linen market",
  "its nine crossroad inns",
  "its brass foundry",
  "its copper wharf",
  "its salt pans",
  "its heron colony",
  "its basket makers",
  "its boat-shaped church",
  "its flower auctions",
  "its dye works",
  "its quarry railway",
  "its sheep fairs",
  "its glass furnaces",
  "its nettle soup",
  "its ice warehouses",
  "its retired whaling crews",
];

export const occupations = ["painter", "composer", "architect", "navigator", "naturalist", "writer"] as const;
export type Occupation = (typeof occupations)[number];

/** Six of each, the oldest first. */
export const people: Readonly<Record<Occupation, readonly string[]>> = {
  painter: ["Tamsin Vell", "Orrin Dace", "Liska Marrow", "Edvar Quill", "Sunna Pryor", "Halden Frisk"],
  composer: ["Ketta Lorne", "Bram Ottoway", "Isaura Fenner", "Rufus Tark", "Melisande Croy", "Anselm Wye"],
  architect: ["Corwin Hasp", "Brida Stonelake", "Jorun Pike", "Odette Varnham", "Tobin Slade", "Agnes Merriden"],
  navigator: ["Lucan Drey", "Maren Holt", "Ivo Saltash", "Philippa Raine", "Garrick Toll", "Wenna Strand"],
  naturalist: ["Perrin Ashgrove", "Dorothea Linn", "Silas Umber", "Yara Coombe", "Emeric Vane", "Nessa Birch"],
  writer: ["Alaric Thorne", "Juniper Sedge", "Matthis Orme", "Celandine Roe", "Benedek Farrow", "Una Whitlock"],
};

/** The fame of each person, by occupation, in the order of their names. */
export const fames: Readonly<Record<Occupation, readonly string[]>> = {
  painter: [
    "portraits of fishermen",
    "stormy skies",
    "still lifes with shells",
    "very small landscapes",
    "ceilings of churches",
    "pictures painted at night",
  ],
  composer: [
    "music for bells",
    "songs of the harbour",
    "long choral works",
    "dances for the fiddle",
    "music without any pauses",
    "a school for blind organists",
  ],
  architect: [
    "arches without mortar",
    "roofs of copper",
    "buildings on wooden piles",
    "round staircases",
    "walls of two colours",
    "very wide windows",
  ],
  navigator: [
    "exact charts of the reefs",
    "sailing without a compass",
    "a method to measure depth",
    "trading voyages in winter",
    "the rescue of two lost crews",
    "a star table that is still printed",
  ],
  naturalist: [
    "a garden of mosses",
    "a catalogue of tides and fish",
    "drawings of insects",
    "the first museum of shells",
    "walks across every island",
    "a dictionary of bird calls",
  ],
  writer: [
    "sea stories",
    "letters to three mayors",
    "comedies about innkeepers",
    "a history of the ferries",
    "riddles for children",
    "poems about the weather",
  ],
};

interface WorkWords {
  readonly title: string;
  readonly subject: string;
}

/** One work of each painter, composer and writer, in the order of their names. */
export const works: Readonly<Record<"painter" | "composer" | "writer", readonly WorkWords[]>> = {
  painter: [
    { title: "The Drowned Orchard", subject: "apple trees standing in the flood" },
    { title: "Seven Lamps at Dusk", subject: "a quay on the evening before a feast" },
    { title: "The Patient Ferryman", subject: "an old man waiting beside an empty boat" },
    { title: "Frost on the Nets", subject: "fishing nets hung up in the first cold night" },
    { title: "The Blue Stair", subject: "a spiral stair seen from far below" },
    { title: "Market without People", subject: "stalls left alone in the rain" },
  ],
  composer: [
    { title: "The Salt King", subject: "a ruler who turns his own palace into salt" },
    { title: "Eleven Gulls", subject: "brothers who fly away from home" },
    { title: "The Bride of the Reef", subject: "a diver who marries the sea" },
    { title: "A Winter of Fiddles", subject: "a village that plays music until the snow melts" },
    { title: "The Clockmaker's Debt", subject: "a man who sells his own hours" },
    { title: "Harbour of Glass", subject: "a town that nobody may touch" },
  ],
  writer: [
    { title: "A Ledger of Tides", subject: "a clerk who writes down every wave" },
    { title: "The Lamplighter's Daughter", subject: "a girl who keeps a beacon burning" },
    { title: "Nine Inns", subject: "a journey in which every night goes wrong" },
    { title: "The Island That Sailed", subject: "a piece of land that breaks loose" },
    { title: "Letters from the Quarry", subject: "two masons who never meet" },
    { title: "The Barley Map", subject: "a map that is sown instead of drawn" },
  ],
};

interface BuildingWords {
  readonly name: string;
  readonly kind: string;
  /** Its measure, in metres. */
  readonly measure: "long" | "tall" | "wide";
}

/** Two of each architect, in the order of their names. */
export const buildings: readonly BuildingWords[] = [
  { name: "Swan Bridge", kind: "stone bridge", measure: "long" },
  { name: "Lantern Hall", kind: "town hall", measure: "wide" },
  { name: "Farlight", kind: "lighthouse", measure: "tall" },
  { name: "Salt Exchange", kind: "trading house", measure: "wide" },
  { name: "Tidewater Library", kind: "library", measure: "wide" },
  { name: "Seven Arch Viaduct", kind: "bridge over a valley", measure: "long" },
  { name: "Gull Tower", kind: "watchtower", measure: "tall" },
  { name: "Amber Theatre", kind: "theatre", measure: "wide" },
  { name: "Ropewalk House", kind: "ropeyard", measure: "long" },
  { name: "Harbour Clock", kind: "clock tower", measure: "tall" },
  { name: "Whitestone Light", kind: "lighthouse", measure: "tall" },
  { name: "Nine Oaks School", kind: "school", measure: "wide" },
];

interface ShipWords {
  readonly name: string;
  readonly rig: string;
  readonly deed: string;
}

/** One of each navigator, in the order of their names. */
export const ships: readonly ShipWords[] = [
  { name: "Silver Tern", rig: "three-masted ship", deed: "was the first to sail around the whole archipelago" },
  { name: "Morning Oath", rig: "brig", deed: "carried the mail through a winter of ice" },
  { name: "Copper Star", rig: "cutter", deed: "charted the outer reefs" },
  { name: "Second Harvest", rig: "grain ship", deed: "ended a famine with a single cargo" },
  { name: "Brave Wren", rig: "sloop", deed: "found the crew of a lost whaler" },
  { name: "Stormglass", rig: "schooner", deed: "measured the deepest trench of the southern chain" },
];

interface SpeciesWords {
  readonly name: string;
  readonly trait: string;
}

/** Two of each naturalist, in the order of their names. */
export const species: readonly SpeciesWords[] = [
  { name: "blue lantern moth", trait: "Its wings glow faintly for an hour after sunset." },
  { name: "marsh lark", trait: "It sings only while it rains." },
  { name: "horned puffling", trait: "Both parents carry a small horn above the beak." },
  { name: "silver fen orchid", trait: "It flowers once in seven years." },
  { name: "ghost heather", trait: "Its white bells have no smell at all." },
  { name: "copper newt", trait: "Its skin turns green when it sleeps." },
  { name: "singing crab", trait: "It rubs its claws to make a high note." },
  { name: "dwarf tide pine", trait: "Its roots stand in salt water twice a day." },
  { name: "velvet eel", trait: "It crosses wet meadows to reach the sea." },
  { name: "moon thistle", trait: "Its flowers open only at night." },
  { name: "cliff hare", trait: "It jumps from ledge to ledge and never digs." },
  { name: "glass snail", trait: "Its shell is so clear that one can see its heart." },
];

interface FestivalWords {
  readonly name: string;
  readonly custom: string;
  readonly food: string;
}

export const festivals: readonly FestivalWords[] = [
  { name: "Night of Kites", custom: "Children fly kites with small lamps on their tails.", food: "honey cakes" },
  { name: "Herring Day", custom: "Crews race their boats backwards through the port.", food: "fried herring" },
  { name: "Bell Fair", custom: "Every bell is rung by somebody who has never rung one.", food: "plum dumplings" },
  { name: "Feast of First Snow", custom: "Neighbours build a long table of snow.", food: "mutton stew" },
  { name: "Rope Dance", custom: "Dancers cross the square on ropes tied between roofs.", food: "nut bread" },
  { name: "Honey Week", custom: "Beekeepers give away a jar to every stranger.", food: "honey beer" },
  { name: "Regatta of Small Boats", custom: "No boat may be longer than a bed.", food: "crab soup" },
  { name: "Lamp Walk", custom: "Everybody carries a lamp to the shore in silence.", food: "roasted chestnuts" },
];

export const months: readonly string[] = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

export const weekdays: readonly string[] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
