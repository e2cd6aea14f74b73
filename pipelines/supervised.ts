/** Tells whether a parent restarts this process. It imports nothing, because every training asks at its start. */
import process from "node:process";

/** The variable by which a child knows that a parent restarts it. */
export const SUPERVISED = "MILLRACE_SUPERVISED";

/** True if a parent restarts this process. */
export const isSupervised = (): boolean => process.env[SUPERVISED] !== undefined;
