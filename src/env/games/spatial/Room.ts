/** Draws a room: objects with different names in different cells, and a start in a free cell that faces north. */
import type { Random } from "../../../domain/Random.ts";
import type { Cell, FieldOfView, Pose, RoomObject } from "./Space.ts";
import { objectNames, type SpatialConfig } from "./SpatialConfig.ts";

export interface SpatialRoom {
  readonly width: number;
  readonly height: number;
  readonly things: readonly RoomObject[];
  readonly start: Pose;
  readonly view: FieldOfView;
}

export const cellsOf = ({ width, height }: Pick<SpatialRoom, "width" | "height">): readonly Cell[] =>
  Array.from({ length: width * height }, (_, at) => ({ x: at % width, y: Math.floor(at / width) }));

export const drawRoom = ({ field_of_view, n_objects, room_size }: SpatialConfig, random: Random): SpatialRoom => {
  const [width, height] = room_size;
  const cells = random.shuffle(cellsOf({ width, height }));
  const roomNames = random.shuffle(objectNames).slice(0, n_objects);
  const things = roomNames.map((name, at): RoomObject => ({ name, ...cells[at]!, facing: random.pick([0, 1, 2, 3]) }));
  return { width, height, things, start: { ...cells[n_objects]!, facing: 0 }, view: field_of_view };
};
