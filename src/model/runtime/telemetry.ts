/**
 * Keeps onnxruntime from telling its maker of the sessions that it opens, which it does from 1.29 on unless a variable of the process forbids it.
 * Invariant: a value that the user has set stays.
 */
import process from "node:process";

/**
 * Sets the variable. A worker thread has only a copy of the process's variables, which onnxruntime does not read: the main thread calls this before it
 * starts one.
 */
export const disableTelemetry = (): void => {
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
};
