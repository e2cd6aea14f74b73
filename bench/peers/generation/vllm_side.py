"""vLLM's side of the bench: answers one JSON line with one JSON line. Its engine runs in this process, one step after another, as `LLM` runs it."""

import json
import math
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from sides import answer_lines  # noqa: E402

engine = None
requests = 0


def open_model(request):
    global engine
    import vllm

    llm = vllm.LLM(
        model=request["folder"],
        dtype=request["format"],
        skip_tokenizer_init=True,
        max_model_len=request["time"],
        max_num_seqs=request["slots"],
        # Every prompt of the widest row fits in one step, so that no row decodes while others are still prefilled.
        max_num_batched_tokens=request["prefillTokens"],
        enable_prefix_caching=True,
        block_size=32,
        seed=1,
    )
    engine = llm.llm_engine
    width = {"float32": 4, "bfloat16": 2}[request["format"]]
    # A step reads each number of the file once: the embedding is the head.
    return {"weightBytes": parameters_of(request["folder"]) * width, "version": vllm.__version__}


def parameters_of(folder):
    with open(pathlib.Path(folder) / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def add(ids, tokens, **more):
    from vllm import SamplingParams

    global requests
    requests += 1
    settings = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "ignore_eos": True, "detokenize": False, **more}
    name = str(requests)
    # The engine keeps the list; a history grows behind it.
    engine.add_request(name, {"prompt_token_ids": list(ids)}, SamplingParams(max_tokens=tokens, **settings))
    return name


def generate(request):
    """Milliseconds until every sequence has its first token, and from then until all have the rest."""
    start = time.perf_counter()
    waiting = {add(ids, request["tokens"]) for ids in request["ids"]}
    first, finished = set(), 0
    prefilled = None
    while engine.has_unfinished_requests():
        for output in engine.step():
            first.add(output.request_id)
            finished += output.finished
        if prefilled is None and len(first) == len(waiting):
            prefilled = time.perf_counter()
    end = time.perf_counter()
    assert finished == len(waiting)
    return {"prefillMs": (prefilled - start) * 1e3, "decodeMs": (end - prefilled) * 1e3}


def play(request):
    """Episodes that append an observation and generate a reply, turn after turn, each on its own; a turn sends the history, of which most is cached."""
    start = time.perf_counter()
    histories, turns, playing = [[] for _ in request["episodes"]], [iter(episode) for episode in request["episodes"]], {}

    def ask(index):
        turn = next(turns[index], None)
        if turn is not None:
            histories[index] += turn["append"]
            playing[add(histories[index], turn["tokens"])] = index

    for index in range(len(turns)):
        ask(index)
    sampled = cached = 0
    while engine.has_unfinished_requests():
        for output in engine.step():
            if output.finished:
                index = playing.pop(output.request_id)
                reply = output.outputs[0].token_ids
                sampled += len(reply)
                cached += output.num_cached_tokens or 0
                histories[index] += reply
                ask(index)
    return {"ms": (time.perf_counter() - start) * 1e3, "sampled": sampled, "cached": cached}


def score(request):
    """Log-probabilities of the last `scored` ids."""
    add(request["ids"], 1, prompt_logprobs=0)
    (output,) = [output for output in outputs_of_steps() if output.finished]
    entries = output.prompt_logprobs[-request["scored"] :]
    return {"logp": [entry[token].logprob for entry, token in zip(entries, request["ids"][-request["scored"] :])]}


def outputs_of_steps():
    while engine.has_unfinished_requests():
        yield from engine.step()


if __name__ == "__main__":
    answer_lines({"open": open_model, "generate": generate, "play": play, "score": score})
