/** The number format that a generator holds a model in: float32 as it is trained, or float16 for matrices and caches (tensor/HalfForm.ts). */

export const numberFormats = ["float32", "float16"] as const;
export type NumberFormat = (typeof numberFormats)[number];
