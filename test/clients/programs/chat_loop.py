"""Episodes and questions in the words of chat completions, for the clients that answer in their form."""

import json

from serve import INSTRUCTIONS, TOOLS, run_tool


def chat_actions(complete):
    """The actions of a client. `complete` is a coroutine function of an order, its messages and further fields of a request."""

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

    return {"episode": episode, "ask": ask}
