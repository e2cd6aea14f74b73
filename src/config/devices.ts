/** The devices of generator and learner in a run file. */
import { cpu, type Device, parse } from "../domain/Device.ts";
import type { RunConfig } from "./RunConfig.ts";

type Model = Pick<RunConfig["model"], "device" | "generator_device" | "learner_device">;

const deviceOf = (text: string): Device => parse(text) ?? cpu;

export const generatorDevice = ({ device, generator_device }: Model): Device => deviceOf(generator_device || device);

export const learnerDevice = ({ device, learner_device }: Model): Device => deviceOf(learner_device || device);
