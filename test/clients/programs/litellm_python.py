"""LiteLLM in a loop over messages, by its provider `openai` or `anthropic`."""

import asyncio
import json
import sys

import litellm
from serve import INSTRUCTIONS, TOOLS, run_tool, serve

PROVIDER = sys.argv[1]
litellm.suppress_debug_info = True


async def complete(order, messages, **body):
    settings = {
        "model": f"{PROVIDER}/policy",
        "api_base": f"{order['url']}/v1" if PROVIDER == "openai" else order["url"],
        "api_key": order["apiKey"],
        "messages": messages,
        **body,
    }
    if not order["isStreamed"]:
        return await litellm.acompletion(**settings)
    stream = await litellm.acompletion(**settings, stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    return litellm.stream_chunk_builder(chunks, messages=messages)


async def episode(order):
    calls, usages, texts = [], [], []
    messages = [{"role": "system", "content": INSTRUCTIONS}]
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    for question in order["questions"]:
        messages.append({"role": "user", "content": question})
        while True:
            completion = await complete(order, messages, tools=tools)
            message = completion.choices[0].message
            usages.append({"prompt": completion.usage.prompt_tokens, "reply": completion.usage.completion_tokens})
            messages.append(message)
            for call in message.tool_calls or []:
                result = run_tool(calls, call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            if not message.tool_calls:
                texts.append(message.content)
                break
    return {"texts": texts, "calls": calls, "usages": usages}


async def ask(order):
    body = {"stop": order["stop"]} if "stop" in order else {}
    if "maxTokens" in order:
        body["max_tokens"] = order["maxTokens"]
    choice = (await complete(order, [{"role": "user", "content": order["questions"][0]}], **body)).choices[0]
    return {"text": choice.message.content, "finish": choice.finish_reason}


asyncio.run(serve({"episode": episode, "ask": ask}))
