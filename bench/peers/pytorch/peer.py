"""PyTorch's side of the bench beside it: a process that answers one JSON line with one JSON line, as millrace.ts does.

A Hugging Face model with SDPA attention in float32 (or the dtype of `open`), fused AdamW, and TRL's GRPO trainer where it is installed.
"""

import json
import pathlib
import re
import sys
import time

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

torch.set_num_threads(2)
CLIP, DUAL, ENTROPY, GRAD_CLIP = 0.2, 3.0, 0.001, 1.0
model = optimiser = tokenizer = None
opened = {}


def now():
    return time.perf_counter() * 1000


def resident():
    status = pathlib.Path("/proc/self/status").read_text()
    return {key: int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for key, name in (("now", "VmRSS"), ("peak", "VmHWM"))}


def open_model(request):
    global model, optimiser, tokenizer, opened
    opened = request
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    idle = resident()["now"]
    dtype = getattr(torch, request.get("dtype", "float32"))
    model = AutoModelForCausalLM.from_pretrained(request["folder"], dtype=dtype, attn_implementation="sdpa")
    model.config.use_cache = False
    tokenizer = AutoTokenizer.from_pretrained(request["folder"])
    return {"idle": idle, "parameters": sum(p.numel() for p in model.parameters())}


def distribution(ids, trained):
    """Log-probabilities of the last `trained` ids of every row given those before them, and the entropies: both [rows, trained]."""
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=trained + 1).logits[:, :-1].float()
    all_logp = F.log_softmax(logits, -1)
    logp = all_logp.gather(-1, ids[:, -trained:, None])[..., 0]
    return logp, -(all_logp.exp() * all_logp).sum(-1)


def surrogate_of(logp, old, advantages):
    ratio = (logp - old).clamp(-20, 20).exp()
    loss = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP))
    return torch.where(advantages < 0, torch.minimum(-advantages * DUAL, loss), loss)


def backward(request):
    """The gradient of the whole batch's loss, micro-batch by micro-batch."""
    trained, rows = request["trained"], request["microRows"]
    ids, old, advantages = (torch.tensor(request[key]) for key in ("ids", "old", "advantages"))
    tokens = ids.shape[0] * trained
    surrogate = entropy = 0.0
    for micro in zip(ids.split(rows), old.split(rows), advantages.split(rows)):
        logp, spread = distribution(micro[0], trained)
        loss = surrogate_of(logp, *micro[1:]).sum() / tokens
        mean_entropy = spread.sum() / tokens
        (loss - ENTROPY * mean_entropy).backward()
        surrogate += loss.item()
        entropy += mean_entropy.item()
    return surrogate, entropy


def update(request):
    global optimiser
    model.train()
    if optimiser is None:
        optimiser = torch.optim.AdamW(model.parameters(), lr=opened["lr"], betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True)
    start = now()
    surrogate, entropy = backward(request)
    clip = opened.get("gradClip", GRAD_CLIP)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip or float("inf")).item()
    if request.get("keep"):
        return {"norm": norm, "surrogate": surrogate, "entropy": entropy}
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return {"ms": now() - start, "surrogate": surrogate, "entropy": entropy, "norm": norm}


@torch.no_grad()
def score(request):
    model.eval()
    ids = torch.tensor(request["ids"])
    parts = [distribution(micro, request["trained"])[0] for micro in ids.split(request["microRows"])]
    return {"logp": torch.cat(parts).tolist()}


def sampled(logits):
    return torch.multinomial(F.softmax(logits[:, -1].float(), -1), 1)


@torch.inference_mode()
def generate(request):
    """`prefill` times a prompt and its first token; `decode` the tokens behind one that is cached."""
    model.eval()
    ids = torch.tensor(request["ids"])
    start = now()
    out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
    token = sampled(out.logits)
    prefilled = now()
    if request["do"] == "prefill":
        return {"ms": prefilled - start}
    for _ in range(request["tokens"]):
        out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)
        token = sampled(out.logits)
    return {"ms": now() - prefilled}


def prompts(request):
    """Texts whose ids are `length` many, so that a trainer which reads text sees what one that reads ids does."""
    texts = []
    for index in range(request["rows"]):
        text = ""
        while len(tokenizer(text, add_special_tokens=False)["input_ids"]) < request["length"]:
            text += "#_PXO"[(index + len(text)) % 5]
        texts.append(text)
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    assert all(len(each) == request["length"] for each in ids)
    return {"texts": texts, "ids": ids}


def grpo(request, answered):
    """TRL's GRPO trainer over the prompts' texts: a step for each line that asks for one. `answered` writes an answer and reads the next request."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    group, texts = request["group"], request["texts"]

    class Steps(TrainerCallback):
        start = 0.0

        def on_step_begin(self, *_, **__):
            self.start = now()

        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = not answered({"ms": now() - self.start})

    def reward(completion_ids, **_):
        return [sum(token % 2 == 0 for token in ids) / len(ids) for ids in completion_ids]

    rows = len(texts) * group
    config = GRPOConfig(
        output_dir="/tmp/millrace-peer-trl",
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=rows,
        num_generations=group,
        max_completion_length=request["tokens"],
        generation_kwargs={"min_new_tokens": request["tokens"]},
        temperature=1.0,
        beta=0.0,
        epsilon=CLIP,
        learning_rate=opened["lr"],
        lr_scheduler_type="constant",
        gradient_checkpointing=False,
        optim="adamw_torch_fused",
        max_steps=1000,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    dataset = Dataset.from_dict({"prompt": texts})
    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=dataset, processing_class=tokenizer, callbacks=[Steps()])
    trainer.train()


ACTIONS = {"open": open_model, "memory": lambda _: resident(), "update": update, "score": score, "prompts": prompts, "decode": generate, "prefill": generate}


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr
    write = lambda answer: print(json.dumps(answer), file=answers, flush=True)
    following = []

    def answered(answer):
        write(answer)
        line = sys.stdin.readline()
        if line and json.loads(line)["do"] == "step":
            return True
        following.append(line)
        return False

    while line := (following.pop() if following else sys.stdin.readline()):
        request = json.loads(line)
        if request["do"] == "step":
            grpo(request, answered)
        else:
            write(ACTIONS[request["do"]](request))


if __name__ == "__main__":
    main()
