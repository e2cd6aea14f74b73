/** The order of docs/api.md: the exports of each entry in groups, those with a heading of their own before those in a table. */

export interface Group {
  readonly title: string;
  /** An introduction, which may link to other pages. */
  readonly intro?: string;
  /** Exports with a heading and their whole declaration. */
  readonly headed?: readonly string[];
  /** Exports with a row in the group's table. */
  readonly listed?: readonly string[];
}

/** An entry of the package, as `millrace/env`. */
export interface EntryLayout {
  /** The name that is imported. */
  readonly name: string;
  readonly intro: string;
  readonly groups: readonly Group[];
}

/** Types that another page explains, by their exported names, with a link to it. They are not printed whole. */
export const elsewhere: ReadonlyMap<string, string> = new Map([
  ["RunConfig", "[run-file.md](run-file.md) and `millrace help config` list the keys."],
  ["MetricKey", "[metrics.md](metrics.md) lists them."],
]);

export const entries: readonly EntryLayout[] = [
  {
    name: "millrace",
    intro: "Trains from code. [examples](examples/README.md) has a file for each use.",
    groups: [
      {
        title: "Start a training",
        headed: ["train", "TrainOptions"],
        listed: [
          "Changes",
          "RunFile",
          "PartOf",
          "OwnModules",
          "OwnModule",
          "OwnEnvironments",
          "RunConfig",
          "compose",
          "start",
          "StartOptions",
          "Parts",
        ],
      },
      {
        title: "A run",
        headed: ["TrainingRun", "Step", "TrainingResult", "StageView", "Control"],
        listed: ["StageName", "StageOutputs", "Controller", "RunState"],
      },
      {
        title: "A trained policy",
        headed: [
          "openPolicy",
          "OpenPolicy",
          "GenerateOptions",
          "GeneratedReply",
          "PlayOptions",
          "evaluate",
          "Evaluation",
          "EvaluationOptions",
          "sft",
          "CloningRun",
          "ClonedModel",
          "CloningStep",
        ],
        listed: ["Message", "SftOptions"],
      },
      {
        title: "Errors",
        intro: "A promise rejects with one of these. The message is a sentence for people, and the stack is empty.",
        listed: [
          "BadInput",
          "EnvironmentError",
          "LearnerError",
          "PolicyError",
          "CheckpointSpaceError",
          "RunStalled",
          "StoppedEarly",
        ],
      },
      {
        title: "Parts of your own",
        headed: [
          "RewardFunction",
          "Selection",
          "CustomPolicy",
          "ReplyRequest",
          "CustomReply",
          "CustomLearner",
          "LearnerContext",
          "CustomUpdate",
          "CustomModelContext",
          "ModelWeights",
          "TokenBatch",
        ],
        listed: ["Sampling", "csv", "Sink"],
      },
      {
        title: "Episodes",
        headed: ["Episode", "Sequence", "Turn", "Outcome"],
        listed: ["Sampled", "succeeded", "rewardOf", "penaltyOf", "turnsOf"],
      },
      {
        title: "Groups and windows",
        intro: "The stages of a run pass these on: `run.stage(name).out$`.",
        headed: [
          "Group",
          "ScoredGroup",
          "ScoredEpisode",
          "ScoredWindow",
          "AssembledWindow",
          "ScoreOutput",
          "JudgedWindow",
          "LearnedWindow",
        ],
        listed: ["Prompt"],
      },
      {
        title: "Events",
        headed: ["Event", "StepRecord"],
        listed: ["MetricKey"],
      },
      {
        title: "The engine",
        headed: ["Stage", "Pipeline", "Admission"],
      },
    ],
  },
  {
    name: "millrace/env",
    intro: "Makes an environment. [environments.md](environments.md#an-environment-of-your-own) is the tutorial.",
    groups: [
      {
        title: "Define an environment",
        headed: ["defineEnvironment", "EnvironmentDefinition", "StepOutcome"],
        listed: ["DefinedState"],
      },
      {
        title: "Tools in place of text actions",
        headed: ["ToolEnvironmentDefinition", "ToolDefinition", "ToolOutcome", "AnswerOutcome"],
        listed: ["ArgumentsOf", "Tool", "toolCall", "toolAnswer", "readAction", "ToolAction", "ToolArguments"],
      },
      { title: "Keys", listed: ["integer", "number", "flag", "text", "choice", "FieldOptions"] },
      {
        title: "The whole contract",
        headed: ["Environment", "Transition", "BaseInfo", "AsyncEnvironment", "Introduction"],
        listed: ["Split", "IllegalAction", "NoInstance"],
      },
      { title: "Chance", headed: ["Random", "Draws"], listed: ["stream", "StreamKey"] },
      {
        title: "Keys by Effect's Schema",
        listed: ["field", "section", "whole", "between", "count", "positive", "fraction", "nonNegative"],
      },
    ],
  },
  {
    name: "millrace/env/contract",
    intro: "Tests an environment.",
    groups: [
      {
        title: "Tests of an environment",
        headed: ["contract", "ContractOptions", "ContractTest"],
        listed: ["Act", "checks"],
      },
    ],
  },
  {
    name: "millrace/env/mcp",
    intro:
      "Makes an environment of the tools of an MCP server. [environments.md](environments.md#tools-of-an-mcp-server) has an example. It needs the package `@modelcontextprotocol/sdk`.",
    groups: [
      {
        title: "An environment of a server's tools",
        headed: ["mcpEnvironment", "McpDefinition", "McpConnection", "McpTranscript", "McpScore"],
        listed: ["McpCommand", "McpAddress", "McpCall", "McpState"],
      },
    ],
  },
  {
    name: "millrace/agent",
    intro:
      "Makes an agent of one's own, which a run trains as it is through an endpoint. [agents.md](agents.md) explains what it gets and gives.",
    groups: [
      {
        title: "An agent",
        headed: ["defineAgent", "Agent", "AgentContext", "AgentEpisode", "AgentOutcome"],
        listed: [],
      },
      {
        title: "An agent in a server of one's own",
        headed: ["rolloutHandler"],
        listed: ["RolloutHandlerOptions"],
      },
      {
        title: "An environment of a preset",
        headed: ["PlayedEnvironment"],
        listed: ["ActionResult", "Observation"],
      },
    ],
  },
  {
    name: "millrace/learner",
    intro:
      "Makes an advantage estimator or a policy loss. [algorithms.md](algorithms.md) says what they are given, and [examples](examples/README.md) has one of each.",
    groups: [
      {
        title: "An advantage estimator",
        headed: ["defineEstimator", "AdvantageEstimator", "EstimatorEpisode", "EstimatorTurn"],
        listed: ["EpisodeAdvantage", "TurnAdvantage"],
      },
      {
        title: "A policy loss",
        headed: ["defineLoss", "LossDefinition", "PolicyLossInputs"],
        listed: ["ClipRule", "ClipOptions", "clampedRatio", "sequenceMeans"],
      },
      {
        title: "Operations on tensors",
        listed: [
          "Tensor",
          "add",
          "sub",
          "mul",
          "div",
          "neg",
          "abs",
          "square",
          "sqrt",
          "exp",
          "log",
          "sigmoid",
          "tanh",
          "minimum",
          "maximum",
          "clip",
          "greater",
          "less",
          "where",
          "stopGradient",
        ],
      },
    ],
  },
  {
    name: "millrace/metrics",
    intro: "Writes a sink, and reads metrics by their names.",
    groups: [
      {
        title: "Write a sink",
        headed: ["sinkOf", "PlainSink", "Sink", "RunInfo", "Outcome", "Feeding"],
        listed: ["SinkError", "csv"],
      },
      {
        title: "What a sink is told",
        headed: ["Sample", "StageSample", "EpisodeRecord", "TurnRecord"],
        listed: ["Message", "StepRecord", "Event"],
      },
      {
        title: "Read metrics",
        headed: ["Metric", "Family"],
        listed: ["Metrics", "valueIn", "toRecord", "MetricKey", "MetricName", "Kind", "Unit"],
      },
      {
        title: "The catalogue",
        intro:
          '[metrics.md](metrics.md) lists every metric. The objects below hold them; a family\'s `of` fills the parts of a name: `episodes.success.of({ split: "train" })`.',
        listed: [
          "catalogue",
          "entryOf",
          "nameOf",
          "Section",
          "Entry",
          "episodes",
          "ofTag",
          "endings",
          "lengths",
          "filter",
          "learner",
          "windows",
          "weights",
          "staleness",
          "stage",
          "generation",
          "tokens",
          "ledger",
          "timing",
        ],
      },
    ],
  },
];
