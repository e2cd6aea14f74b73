"""Whether Millrace and PyTorch compute the same from one model's folder: cached multi-turn chats, and the gradient of a whole update.

Usage: python bench/peers/pytorch/verify.py [FOLDER] [--only chat|gradients]. Fails where they differ. See README.md beside this file.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import run

SYSTEM = "You are a helpful assistant."
USERS = ["What is the capital of France?", "And of Italy? Answer with one word.", "Write the numbers from 1 to 8.", "Thank you! Say goodbye."]


def prompts_of(tokenizer):
    """Ids before each reply: the opening, then what the chat's text has between two replies."""
    turn = lambda role, text: f"<|im_start|>{role}\n{text}<|im_end|>\n"
    texts = [(turn("system", SYSTEM) if index == 0 else "\n") + turn("user", user) + "<|im_start|>assistant\n" for index, user in enumerate(USERS)]
    chat = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USERS[0]}]
    assert texts[0] == tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True), "the folder has another chat format"
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


def check_chat(folder, temperature):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    turns, end = prompts_of(tokenizer), tokenizer.convert_tokens_to_ids("<|im_end|>")
    side = run.Side("millrace", [run.NODE, run.HERE / "millrace.ts"], {})
    side.ask(do="open", folder=str(folder), lanes=1, lr=1e-6)
    replies = side.ask(do="chat", turns=turns, tokens=48, temperature=temperature, ends=[end])["replies"]
    side.close()
    ids, places, mu = [], [], []
    for turn, reply in zip(turns, replies):
        ids += turn
        places += range(len(ids), len(ids) + len(reply["ids"]))
        mu += reply["mu"]
        ids += reply["ids"]
    with torch.inference_mode():
        logp = torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), -1)
    wanted = [int(logp[place - 1].argmax()) for place in places]
    different = sum(ids[place] != want for place, want in zip(places, wanted))
    print(f"temperature {temperature}: {len(places)} tokens over {len(turns)} turns; last reply {tokenizer.decode(replies[-1]['ids'])!r}")
    if temperature == 0:
        print(f"  {different} ids differ from transformers' likeliest")
        return different == 0
    worst = max(abs(value - float(logp[place - 1, ids[place]])) for place, value in zip(places, mu))
    print(f"  worst |mu - log p| {worst:.1e}")
    return worst <= 1e-3


def gradients_of(folder, rows, time):
    """The gradient of one update of both sides over the same batch, tensor by tensor."""
    row = {"rows": rows, "time": time, "trained": time // 2, "micro": 2}
    made = run.batch(row, 600, 7)
    ours = run.Side("millrace", [run.NODE, run.HERE / "millrace.ts"], {})
    ours.ask(do="open", folder=str(folder), lanes=1, lr=1e-6, gradClip=0)
    old = run.policy_of(ours.ask(do="score", ids=made["ids"], trained=made["trained"], microRows=2)["logp"], 7)
    answer = ours.ask(do="update", **made, old=old)
    with tempfile.TemporaryDirectory() as temporary:
        file = pathlib.Path(temporary) / "gradient"
        specs = ours.ask(do="gradients", file=str(file))["specs"]
        flat = np.fromfile(file, dtype=np.float32)
    ours.close()
    import peer

    peer.open_model({"folder": str(folder), "gradClip": 0, "lr": 1e-6})
    peer.model.train()
    surrogate, entropy = peer.backward({**made, "old": old})
    print(f"  surrogate {answer['surrogate']:.6g} and {surrogate:.6g}, entropy {answer['entropy']:.6f} and {entropy:.6f}")
    theirs = {name: parameter.grad.numpy().ravel() for name, parameter in peer.model.named_parameters()}
    at = 0
    for spec in specs:
        size = int(np.prod(spec["shape"]))
        yield spec["name"], flat[at : at + size], theirs[spec["name"]]
        at += size


def check_gradients(folder, rows, time):
    print(f"gradient of a whole update, {rows} x {time}:")
    compared = []
    for name, one, other in gradients_of(folder, rows, time):
        norm = float(np.linalg.norm(other))
        compared.append((float(one @ other) / (float(np.linalg.norm(one)) * norm + 1e-30), float(np.linalg.norm(one - other)) / (norm + 1e-30), norm, name))
    total = sum(each[2] ** 2 for each in compared) ** 0.5
    # A tensor without a gradient to speak of, as a bias of keys has, has no direction either.
    told = [each for each in compared if each[2] > 1e-6 * total]
    print(f"  {len(told)} of {len(compared)} tensors; least cosine {min(told)[0]:.7f} of {min(told)[3]}, worst relative error {max(told, key=lambda each: each[1])[1]:.1e} of {max(told, key=lambda each: each[1])[3]}")
    return min(told)[0] > 0.9999 and max(each[1] for each in told) < 5e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=run.REAL)
    parser.add_argument("--only", choices=["chat", "gradients"])
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--time", type=int, default=128)
    options = parser.parse_args()
    good = True
    if options.only != "gradients":
        good = check_chat(options.folder, 0) and check_chat(options.folder, 1)
    if options.only != "chat":
        good = check_gradients(options.folder, options.rows, options.time) and good
    print("they compute the same" if good else "THEY DIFFER")
    sys.exit(0 if good else 1)


main()
