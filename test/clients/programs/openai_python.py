"""Python's openai in a loop over messages, by `chat` or `responses`."""

import asyncio
import json
import sys

from chat_loop import chat_actions
from openai import AsyncOpenAI
from serve import INSTRUCTIONS, TOOLS, run_tool, serve

VARIANT = sys.argv[1]


def client_of(order):
    return AsyncOpenAI(base_url=f"{order['url']}/v1", api_key=order["apiKey"])


async def complete(order, messages, **body):
    completions = client_of(order).chat.completions
    if not order["isStreamed"]:
        return await completions.create(model="policy", messages=messages, **body)
    usage = {"include_usage": True}
    async with completions.stream(model="policy", messages=messages, stream_options=usage, **body) as stream:
        return await stream.get_final_completion()


async def respond(order, **body):
    responses = client_of(order).responses
    if not order["isStreamed"]:
        return await responses.create(model="policy", **body)
    async with responses.stream(model="policy", **body) as stream:
        return await stream.get_final_response()


async def responses_episode(order):
    calls, usages, texts, items = [], [], [], []
    tools = [{"type": "function", "strict": True, **tool} for tool in TOOLS]
    for question in order["questions"]:
        items.append({"role": "user", "content": question})
        while True:
            response = await respond(order, instructions=INSTRUCTIONS, input=items, tools=tools)
            usages.append({"prompt": response.usage.input_tokens, "reply": response.usage.output_tokens})
            items += response.output
            asked = [item for item in response.output if item.type == "function_call"]
            for call in asked:
                output = run_tool(calls, call.name, json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
            if not asked:
                texts.append(response.output_text)
                break
    return {"texts": texts, "calls": calls, "usages": usages}


async def responses_ask(order):
    body = {"max_output_tokens": order["maxTokens"]} if "maxTokens" in order else {}
    response = await respond(order, input=order["questions"][0], **body)
    details = response.incomplete_details
    return {"text": response.output_text, "finish": details.reason if details else response.status}


actions = {
    "chat": chat_actions(complete),
    "responses": {"episode": responses_episode, "ask": responses_ask},
}
asyncio.run(serve(actions[VARIANT]))
