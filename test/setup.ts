/** Property tests draw the same cases in every run. */
import fc from "fast-check";

fc.configureGlobal({ seed: 1 });
