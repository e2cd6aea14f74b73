"""LiteLLM in a loop over messages, by its provider `openai` or `anthropic`."""

import asyncio
import sys

import litellm
from chat_loop import chat_actions
from serve import serve

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


asyncio.run(serve(chat_actions(complete)))
