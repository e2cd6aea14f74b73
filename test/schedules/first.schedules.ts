/** The first share of the explored schedules. */
import { exploreShare } from "./share.ts";

exploreShare(0);
