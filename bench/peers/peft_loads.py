"""Loads an adapter that millrace wrote with peft, and compares what it gives with the model that `millrace merge` wrote of it: the largest
difference of log-probabilities over random ids, with the adapter and with it switched off. Needs torch, transformers 5 and peft; fetches nothing.

python3 bench/peers/peft_loads.py ADAPTER BASE MERGED
"""

import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

adapter, base, merged = sys.argv[1:4]


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()


torch.manual_seed(0)
whole = load(merged)
model = PeftModel.from_pretrained(load(base), adapter).eval()
ids = torch.randint(0, whole.config.vocab_size, (2, 64))
with torch.no_grad():
    ours = torch.log_softmax(whole(input_ids=ids).logits, -1)
    theirs = torch.log_softmax(model(input_ids=ids).logits, -1)
    with model.disable_adapter():
        without = torch.log_softmax(model(input_ids=ids).logits, -1)
config = model.peft_config["default"]
print(f"rank {config.r}, alpha {config.lora_alpha}, layers {', '.join(sorted(config.target_modules))}")
print(f"merged against peft: {(ours - theirs).abs().max().item():.2e}; with against without: {(theirs - without).abs().max().item():.2e}")
