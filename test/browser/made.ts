/** Folders of runs whose texts try to be more than texts: two episodes of Sokoban, and two of an agent. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EpisodeRecord } from "../../src/domain/EpisodeRecord.ts";
import { recordsOf } from "../../src/observe/record/episodeRecords.ts";
import { episodeIndexLine } from "../../src/observe/record/Trajectories.ts";
import { agentEpisode, agentPieces } from "../build/agentEpisodes.ts";
import { groupOfEpisodes } from "../build/groups.ts";
import { episodeRecord, turnRecord } from "../build/records.ts";
import { writeRun } from "../observe/watch/syntheticRun.ts";

export const hostile = `</script><img src=x onerror="document.title='broken'"><script>document.title='broken'</script><!--`;

const config = `es_manager: { train: { tags: [SimpleSokoban] } }
custom_envs: { SimpleSokoban: { env_type: sokoban, env_config: { dim_room: [3, 6], num_boxes: 1 } } }
`;

const states = ["######\n#PX_O#\n######", "######\n#_PXO#\n######", "######\n#__P√#\n######"] as const;

const said = ["</think>", "<answer>", "Right", "</answer>"] as const;

const recordOf = (member: number): EpisodeRecord =>
  episodeRecord({
    step: 4,
    member,
    verdict: "kept",
    groupScore: 0.7,
    messages: [
      { role: "user", content: states[0] },
      { role: "assistant", content: `<think>${hostile}</think><answer>Right</answer>` },
      { role: "user", content: states[1] },
      { role: "assistant", content: "<think>push</think><answer>Right</answer>" },
    ],
    turns: [
      turnRecord([hostile, ...said], { actions: ["Right", hostile], advantages: [1, 0, 0, -1, 0] }),
      turnRecord(["push", ...said], { parsed: false, advantages: [1, 1, 1, 1, 1] }),
    ],
    final: states[2],
  });

/** The texts in the two pictures of each turn: the state before and after. */
export const pictures: readonly string[] = [
  "Sokoban: player (2, 2), box (2, 3), target (2, 5)",
  "Sokoban: player (2, 3), box (2, 4), target (2, 5)",
  "Sokoban: player (2, 3), box (2, 4), target (2, 5)",
  "Sokoban: player (2, 4), box on target (2, 5)",
];

const writeRecords = (folder: string, episodes: readonly EpisodeRecord[]): void => {
  writeRun(folder, { steps: 12 });
  writeFileSync(join(folder, "config.yaml"), config);
  let [records, index] = ["", ""];
  for (const record of episodes) {
    const text = `${JSON.stringify(record)}\n`;
    index += `${JSON.stringify(episodeIndexLine(record, Buffer.byteLength(records), Buffer.byteLength(text)))}\n`;
    records += text;
  }
  writeFileSync(join(folder, "trajectories.jsonl"), records);
  writeFileSync(join(folder, "trajectories.index.jsonl"), index);
};

export const writeGame = (folder: string): void => writeRecords(folder, [recordOf(0), recordOf(1)]);

export const writeAgent = (folder: string): void => {
  const group = groupOfEpisodes(12, [agentEpisode({ group: 12, member: 0 }), agentEpisode({ group: 12, member: 1 })]);
  writeRecords(folder, recordsOf({ step: 4, split: "train" }, group, null, agentPieces));
};
