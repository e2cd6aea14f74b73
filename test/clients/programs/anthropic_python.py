"""Python's anthropic: `messages` is a loop over messages, `runner` its own loop, which holds the conversation in a thread."""

import asyncio
import sys

from anthropic import AsyncAnthropic, beta_async_tool
from serve import INSTRUCTIONS, TOOLS, run_tool, serve

VARIANT = sys.argv[1]


def client_of(order):
    return AsyncAnthropic(base_url=order["url"], api_key=order["apiKey"])


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def usage_of(message):
    return {"prompt": message.usage.input_tokens, "reply": message.usage.output_tokens}


async def create(order, **body):
    messages = client_of(order).messages
    if not order["isStreamed"]:
        return await messages.create(model="policy", **body)
    async with messages.stream(model="policy", **body) as stream:
        return await stream.get_final_message()


async def loop_episode(order):
    calls, usages, texts, messages = [], [], [], []
    tools = [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in TOOLS]
    for question in order["questions"]:
        messages.append({"role": "user", "content": question})
        while True:
            message = await create(order, max_tokens=1000, system=INSTRUCTIONS, messages=messages, tools=tools)
            usages.append(usage_of(message))
            messages.append({"role": "assistant", "content": message.content})
            asked = [block for block in message.content if block.type == "tool_use"]
            if not asked:
                texts.append(text_of(message))
                break
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": run_tool(calls, one.name, one.input)}
                for one in asked
            ]
            messages.append({"role": "user", "content": results})
    return {"texts": texts, "calls": calls, "usages": usages}


def runnable(calls, tool):
    async def run(**values):
        return run_tool(calls, tool["name"], values)

    return beta_async_tool(
        run, name=tool["name"], description=tool["description"], input_schema=tool["parameters"]
    )


async def runner_episode(order):
    calls, usages, texts, messages = [], [], [], []
    tools = [runnable(calls, tool) for tool in TOOLS]
    for question in order["questions"]:
        messages.append({"role": "user", "content": question})
        runner = client_of(order).beta.messages.tool_runner(
            model="policy",
            max_tokens=1000,
            system=INSTRUCTIONS,
            messages=messages,
            tools=tools,
            stream=order["isStreamed"],
        )
        async for turn in runner:
            message = await turn.get_final_message() if order["isStreamed"] else turn
            usages.append(usage_of(message))
            messages.append({"role": "assistant", "content": message.content})
            results = await runner.generate_tool_call_response()
            if results is not None:
                messages.append(results)
        texts.append(text_of(message))
    return {"texts": texts, "calls": calls, "usages": usages}


async def ask(order):
    body = {"stop_sequences": order["stop"]} if "stop" in order else {}
    messages = [{"role": "user", "content": order["questions"][0]}]
    message = await create(order, max_tokens=order.get("maxTokens", 1000), messages=messages, **body)
    return {"text": text_of(message), "finish": message.stop_reason}


asyncio.run(serve({"episode": runner_episode if VARIANT == "runner" else loop_episode, "ask": ask}))
