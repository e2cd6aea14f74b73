/** The names of objects; all of them have a front. */
export const names: readonly string[] = [
  ...["armchair", "bookcase", "cabinet", "computer", "desk", "dresser", "fireplace", "fridge"],
  ...["mirror", "oven", "piano", "printer", "sofa", "television", "wardrobe", "washer"],
];
