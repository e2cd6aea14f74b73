"""llama.cpp's side of the bench: answers one JSON line with one JSON line.

One context holds a cache per sequence. Each call of `llama_decode` takes one token of every sequence that decodes and all tokens that are
new to the others, as llama.cpp's server batches them; its sampler chain then draws a token for each, one after another.
"""

import pathlib
import sys
import time

import llama_cpp as llama
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from sides import answer_lines  # noqa: E402

# ggml's numbers of tensor types.
CACHE_TYPES = {"f32": 0, "f16": 1}


class Context:
    def __init__(self, request):
        silence = llama.llama_log_callback(lambda level, text, _: sys.stderr.write(text.decode()) if level >= 4 else None)
        llama.llama_log_set(silence, None)
        self.silence = silence
        llama.llama_backend_init()
        model = llama.llama_model_load_from_file(request["gguf"].encode(), llama.llama_model_default_params())
        settings = llama.llama_context_default_params()
        settings.n_ctx = request["slots"] * request["time"]
        settings.n_seq_max = request["slots"]
        settings.n_batch = request["prefillTokens"]
        settings.n_threads = settings.n_threads_batch = request["threads"]
        settings.type_k = settings.type_v = CACHE_TYPES[request["cache"]]
        # Flash attention computes in float16 whatever the cache holds, which moves log-probabilities by up to 0.01.
        settings.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED if request["cache"] == "f32" else llama.LLAMA_FLASH_ATTN_TYPE_AUTO
        # Each sequence attends to a cache of its own. In one that all share, every row would pass over the keys of all.
        settings.kv_unified = False
        settings.no_perf = True
        self.context = llama.llama_init_from_model(model, settings)
        if not self.context:
            raise SystemExit("llama.cpp opened no context")
        self.memory = llama.llama_get_memory(self.context)
        self.width = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
        self.weightBytes = llama.llama_model_size(model)
        self.sampler = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        llama.llama_sampler_chain_add(self.sampler, llama.llama_sampler_init_temp(1.0))
        llama.llama_sampler_chain_add(self.sampler, llama.llama_sampler_init_dist(1))
        self.batch = llama.llama_batch_init(request["prefillTokens"], 0, 1)

    def decode(self, feeds):
        """Feeds (sequence, first position, ids) for each, and returns which output is the last id's of each."""
        at, lasts, batch = 0, [], self.batch
        for sequence, position, ids in feeds:
            for offset, token in enumerate(ids):
                batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, position + offset, 1, 0
                batch.seq_id[at][0] = sequence
                at += 1
            batch.logits[at - 1] = 1
            lasts.append(at - 1)
        batch.n_tokens = at
        status = llama.llama_decode(self.context, batch)
        if status != 0:
            raise SystemExit(f"llama_decode returned {status}")
        return lasts

    def sample(self, feeds):
        return [llama.llama_sampler_sample(self.sampler, self.context, at) for at in self.decode(feeds)]

    def logits(self, at):
        return np.ctypeslib.as_array(llama.llama_get_logits_ith(self.context, at), (self.width,))

    def clear(self):
        llama.llama_memory_clear(self.memory, False)


context = None


def open_model(request):
    global context
    context = Context(request)
    return {"weightBytes": context.weightBytes, "version": f"{llama.__version__} (llama-cpp-python)"}


def generate(request):
    """Milliseconds until every sequence has its first token, and from then until all have the rest."""
    prompts, start = request["ids"], time.perf_counter()
    tokens = context.sample([(sequence, 0, ids) for sequence, ids in enumerate(prompts)])
    prefilled = time.perf_counter()
    for step in range(1, request["tokens"]):
        tokens = context.sample([(sequence, len(prompts[sequence]) + step - 1, [token]) for sequence, token in enumerate(tokens)])
    end = time.perf_counter()
    context.clear()
    return {"prefillMs": (prefilled - start) * 1e3, "decodeMs": (end - prefilled) * 1e3}


def play(request):
    """Episodes that append an observation and generate a reply, turn after turn, each on its own; the cache keeps the history."""
    start, sampled = time.perf_counter(), 0
    turns = [iter(episode) for episode in request["episodes"]]
    lengths, left, ids = [0] * len(turns), [0] * len(turns), [[] for _ in turns]

    def ask(sequence):
        turn = next(turns[sequence], None)
        if turn is not None:
            # The last token of the reply is not in the cache yet.
            ids[sequence] = ids[sequence] + turn["append"]
            left[sequence] = turn["tokens"]

    for sequence in range(len(turns)):
        ask(sequence)
    while any(left):
        playing = [sequence for sequence in range(len(turns)) if left[sequence] > 0]
        replies = context.sample([(sequence, lengths[sequence], ids[sequence]) for sequence in playing])
        for sequence, token in zip(playing, replies):
            lengths[sequence] += len(ids[sequence])
            ids[sequence] = [token]
            left[sequence] -= 1
            sampled += 1
            if left[sequence] == 0:
                ask(sequence)
    context.clear()
    return {"ms": (time.perf_counter() - start) * 1e3, "sampled": sampled}


def log_probability(logits, token):
    shifted = logits.astype(np.float64) - logits.max()
    return float(shifted[token] - np.log(np.exp(shifted).sum()))


def score(request):
    """Log-probabilities of the last `scored` ids, fed one after another as in decoding."""
    ids, scored = request["ids"], request["scored"]
    prompt, found = len(ids) - scored, []
    (at,) = context.decode([(0, 0, ids[:prompt])])
    for position in range(prompt, len(ids)):
        found.append(log_probability(context.logits(at), ids[position]))
        (at,) = context.decode([(0, position, [ids[position]])])
    context.clear()
    return {"logp": found}


if __name__ == "__main__":
    answer_lines({"open": open_model, "generate": generate, "play": play, "score": score})
