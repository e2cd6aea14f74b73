/** The linear layers of a block that an adapter may adapt, by PEFT's names. Threads that compute read it without the run file's schema. */
export const loraTargets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;
