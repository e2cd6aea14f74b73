"""The same agent in Python with the package openai (`pip install openai`), as a command.

It reads its task from MILLRACE_TASK, calls the endpoint at OPENAI_BASE_URL with OPENAI_API_KEY, and prints its reward as JSON in its last line.
"""

import json
import os
import re

from openai import OpenAI

MOST_CALLS = 6


def find(facts: dict, name: str) -> str:
    return str(facts.get(name.strip(), "no"))


def solve(sum: str) -> str:
    """The value of `12+30` or `30-12`; "no" for anything else."""
    parts = re.fullmatch(r"\s*(\d{1,6})\s*([+-])\s*(\d{1,6})\s*", sum)
    if parts is None:
        return "no"
    left, operator, right = parts.groups()
    return str(int(left) + int(right) if operator == "+" else int(left) - int(right))


def tool(name: str, description: str, parameter: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [tool("find", "what a name has", "name"), tool("solve", "the answer of a sum", "sum")]


def run_tool(task: dict, name: str, arguments: str) -> str:
    values = json.loads(arguments)
    if name == "find":
        return find(task["facts"], str(values.get("name", "")))
    return solve(str(values.get("sum", ""))) if name == "solve" else "no"


def main() -> None:
    task = json.loads(os.environ["MILLRACE_TASK"])
    client = OpenAI(max_retries=0)  # Address and key are in the environment.
    messages = [{"role": "user", "content": task["question"]}]
    text = ""
    tool_calls = 0
    for _ in range(MOST_CALLS):
        message = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS).choices[0].message
        text = message.content or ""
        if not message.tool_calls:
            break
        messages.append(message.to_dict())
        for call in message.tool_calls:
            tool_calls += 1
            result = run_tool(task, call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    reward = 1 if text.strip() == task["answer"] else 0
    print(json.dumps({"reward": reward, "metrics": {"tool_calls": tool_calls}}))


main()
