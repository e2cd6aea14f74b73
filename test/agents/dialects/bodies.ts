/** Bodies in the forms that clients send, after a first call with two tool calls, by the client's name. */

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const zodSchema = { $schema: "http://json-schema.org/draft-07/schema#", ...schema, additionalProperties: false };

const chatCall = (id: string, city: string) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city }) },
});
const responsesCall = (callId: string, city: string) => ({
  type: "function_call",
  call_id: callId,
  name: "weather",
  arguments: JSON.stringify({ city }),
});

export const chatBodies = {
  openai: {
    model: "policy",
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Where is it warm?" },
      {
        role: "assistant",
        content: "I look.",
        refusal: null,
        reasoning_content: "Two cities.",
        tool_calls: [chatCall("c1", "Paris"), chatCall("c2", "Rome")],
      },
      { role: "tool", tool_call_id: "c1", content: "20" },
      { role: "tool", tool_call_id: "c2", content: "25" },
    ],
    tools: [{ type: "function", function: { name: "weather", description: "Degrees.", parameters: schema } }],
  },
  python: {
    model: "policy",
    messages: [
      { role: "system", content: "Be brief.", name: "guide" },
      { role: "user", content: [{ type: "text", text: "Where is it warm?" }] },
      {
        role: "assistant",
        content: "I look.",
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [chatCall("c1", "Paris"), chatCall("c2", "Rome")],
      },
      { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "20" }] },
      { role: "tool", tool_call_id: "c2", content: "25" },
    ],
    tools: [
      { type: "function", function: { name: "weather", description: "Degrees.", parameters: schema, strict: null } },
    ],
    extra_headers: null,
  },
  aiSdk: {
    model: "policy",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Where is it warm?" },
      { role: "assistant", content: "I look.", tool_calls: [chatCall("c1", "Paris"), chatCall("c2", "Rome")] },
      { role: "tool", tool_call_id: "c1", content: "20" },
      { role: "tool", tool_call_id: "c2", content: "25" },
    ],
    tools: [{ type: "function", function: { name: "weather", description: "Degrees.", parameters: zodSchema } }],
    tool_choice: "auto",
    stream: true,
    stream_options: { include_usage: true },
  },
};

export const responsesBodies = {
  openai: {
    model: "policy",
    instructions: "Be brief.",
    input: [
      { role: "user", content: "Where is it warm?" },
      { id: "rs_a0", type: "reasoning", summary: [{ type: "summary_text", text: "Two cities." }] },
      {
        id: "msg_a0",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "I look.", annotations: [], logprobs: [] }],
      },
      { ...responsesCall("c1", "Paris"), id: "fc_a0_0", status: "completed" },
      { ...responsesCall("c2", "Rome"), id: "fc_a0_1", status: "completed" },
      { type: "function_call_output", call_id: "c1", output: "20" },
      { type: "function_call_output", call_id: "c2", output: [{ type: "input_text", text: "25" }] },
    ],
    tools: [{ type: "function", name: "weather", description: "Degrees.", parameters: schema, strict: true }],
  },
  agents: {
    model: "policy",
    instructions: "Be brief.",
    input: [
      { type: "message", role: "user", content: "Where is it warm?" },
      {
        id: "msg_a0",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "I look.", annotations: [] }],
      },
      { ...responsesCall("c1", "Paris"), id: "fc_a0_0", status: "completed" },
      { ...responsesCall("c2", "Rome"), id: "fc_a0_1", status: "completed" },
      { type: "function_call_output", call_id: "c1", output: "20", status: "completed" },
      { type: "function_call_output", call_id: "c2", output: "25", status: "completed" },
    ],
    include: [],
    tools: [{ type: "function", name: "weather", description: "Degrees.", parameters: zodSchema, strict: true }],
    stream: false,
  },
  aiSdk: {
    model: "policy",
    input: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "Where is it warm?" }] },
      { type: "item_reference", id: "rs_a0" },
      { type: "item_reference", id: "msg_a0" },
      responsesCall("c1", "Paris"),
      responsesCall("c2", "Rome"),
      { type: "function_call_output", call_id: "c1", output: "20" },
      { type: "function_call_output", call_id: "c2", output: "25" },
    ],
    tools: [{ type: "function", name: "weather", description: "Degrees.", parameters: zodSchema, strict: false }],
    tool_choice: "auto",
  },
};

export const messagesBodies = {
  anthropic: {
    model: "policy",
    max_tokens: 1_024,
    system: "Be brief.",
    messages: [
      { role: "user", content: "Where is it warm?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Two cities.", signature: "a0" },
          { type: "text", text: "I look.", citations: null },
          { type: "tool_use", id: "c1", name: "weather", input: { city: "Paris" }, caller: { type: "direct" } },
          { type: "tool_use", id: "c2", name: "weather", input: { city: "Rome" }, caller: { type: "direct" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "20" },
          { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "25" }], is_error: false },
        ],
      },
    ],
    tools: [{ name: "weather", description: "Degrees.", input_schema: schema }],
  },
  aiSdk: {
    model: "policy",
    max_tokens: 4_096,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Where is it warm?" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "c1", name: "weather", input: { city: "Paris" } },
          { type: "tool_use", id: "c2", name: "weather", input: { city: "Rome" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "20" },
          { type: "tool_result", tool_use_id: "c2", content: "25" },
        ],
      },
    ],
    tools: [{ name: "weather", description: "Degrees.", input_schema: zodSchema }],
    tool_choice: { type: "auto" },
    stream: true,
  },
};

/** The messages that each of these bodies means. */
export const meaning = [
  { role: "system", text: "Be brief." },
  { role: "user", text: "Where is it warm?" },
  {
    role: "assistant",
    text: "I look.",
    calls: [
      { id: "c1", name: "weather", arguments: { city: "Paris" } },
      { id: "c2", name: "weather", arguments: { city: "Rome" } },
    ],
  },
  { role: "tool", call: "c1", text: "20" },
  { role: "tool", call: "c2", text: "25" },
];
