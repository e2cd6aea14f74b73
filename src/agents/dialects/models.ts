/** The body of `GET /v1/models`. It has the fields of OpenAI's and of Anthropic's list, since both clients ask the same path. */

/** The name under which the trained model is listed. */
export const policyModel = "policy";

/** The list of models. `created` is in seconds since 1970. */
export const modelList = (created: number): unknown => {
  const model = {
    id: policyModel,
    object: "model",
    created,
    owned_by: "millrace",
    type: "model",
    display_name: policyModel,
    created_at: new Date(created * 1_000).toISOString(),
  };
  return { object: "list", data: [model], has_more: false, first_id: policyModel, last_id: policyModel };
};
