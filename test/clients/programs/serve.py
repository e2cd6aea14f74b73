"""The loop of a client's program in Python, with the orders and results of serve.mjs; the tools of the episodes, too."""

import asyncio
import json
import sys
from pathlib import Path

EPISODE = json.loads((Path(__file__).parent / "episode.json").read_text())
INSTRUCTIONS = EPISODE["instructions"]
TOOLS = EPISODE["tools"]
DEGREES = {"Paris": 20, "Rome": 25}


def run_tool(calls, name, values):
    """Runs a tool, and notes the call in `calls`."""
    calls.append({"name": name, "arguments": values})
    return f"{DEGREES.get(values.get('city'))} °C" if name == "weather" else "noted"


def failure_of(error):
    """The error as its class names it, with the status of the reply where it carries one."""
    names = [one.__name__ for one in type(error).__mro__ if one not in (object, BaseException)]
    return {"error": {"classes": names, "status": getattr(error, "status_code", None), "message": str(error)}}


async def serve(actions):
    """Serves orders by `actions`: coroutine functions of an order, by the names of orders. An abort cancels the running one."""

    async def run(order):
        try:
            result = {**(await actions[order["do"]](order)), "isAborted": False}
        except asyncio.CancelledError:
            result = {"isAborted": True}
        except Exception as error:
            result = {**failure_of(error), "isAborted": False}
        print("result: " + json.dumps(result), flush=True)

    running = None
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        if order["do"] == "abort":
            running.cancel()
        else:
            running = asyncio.create_task(run(order))
