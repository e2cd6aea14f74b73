/** The names of Bandit's arms as (low-risk, high-risk) pairs. No name is in both splits. */
import type { BanditConfig } from "./BanditConfig.ts";

export type ArmPair = readonly [low: string, high: string];

export const armNames: Readonly<Record<Exclude<BanditConfig["split"], "auto">, readonly ArmPair[]>> = {
  train: [
    ["Teacher", "Trader"],
    ["Nurse", "StartupFounder"],
    ["Librarian", "Investor"],
    ["Accountant", "StockBroker"],
    ["Engineer", "RealEstateAgent"],
    ["Pharmacist", "Musician"],
    ["Clerk", "Freelancer"],
    ["Technician", "Youtuber"],
    ["Planner", "Artist"],
    ["Postman", "Pilot"],
    ["Banker", "VentureCapitalist"],
    ["Gardener", "Cryptominer"],
  ],
  test: [
    ["Receptionist", "Explorer"],
    ["Archivist", "Filmmaker"],
    ["Bookkeeper", "Consultant"],
    ["SocialWorker", "Photographer"],
    ["Mechanic", "GameDesigner"],
    ["Secretary", "Entrepreneur"],
    ["Cashier", "DataScientist"],
    ["CivilServant", "StartupAccelerator"],
  ],
};
