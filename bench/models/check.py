"""Checks a folder written by smollm2.py with transformers: sizes, chat format, round trips of text, and what the model answers greedily.

Usage: python bench/models/check.py [FOLDER]
"""

import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "models" / "SmolLM2-135M-Instruct"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
QUESTIONS = ["What is the capital of France?", "What is gravity?", "Write the numbers from 1 to 5."]
TEXTS = ["Hello world 12345!", "  two  spaces\n\n\tand tabs", "naïve café, 東京, 🙂", "<think>Up</think><answer>Left || Right</answer>"]


def main():
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    config = model.config
    theta = (getattr(config, "rope_parameters", None) or {}).get("rope_theta", getattr(config, "rope_theta", None))
    print(f"{type(model).__name__}, {sum(p.numel() for p in model.parameters())} parameters, rope theta {theta}, {len(tokenizer)} tokens")
    chat = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}]
    shown = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    turn = lambda role, text: f"<|im_start|>{role}\n{text}<|im_end|>\n"
    expected = turn("system", SYSTEM) + turn("user", "A") + turn("assistant", "B") + turn("user", "C") + "<|im_start|>assistant\n"
    assert shown == expected, shown
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text, (text, tokenizer.decode(ids))
    digits = tokenizer.convert_ids_to_tokens(tokenizer("a12345", add_special_tokens=False)["input_ids"])
    assert digits == ["a", "1", "2", "3", "4", "5"], digits
    print("chat format, round trips of text, single digits: as expected")
    for question in QUESTIONS:
        chat = [{"role": "user", "content": question}]
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        with torch.no_grad():
            out = model.generate(**inputs, max_new_tokens=60, do_sample=False)
        print(f"> {question}\n{tokenizer.decode(out[0, inputs['input_ids'].shape[1] :])}")


main()
