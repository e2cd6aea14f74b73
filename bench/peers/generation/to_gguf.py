"""Turns a Hugging Face folder of a Llama model into the GGUF that llama.cpp reads, in float32 or q8_0. It has no tokenizer: the bench feeds ids.

Usage: python bench/peers/generation/to_gguf.py FOLDER OUT --format f32|q8_0. q8_0 quantises every matrix, the embedding among them, as
llama.cpp's own quantiser does; norms stay float32. Fetches nothing.
"""

import argparse
import json
import os
import pathlib

import gguf
import numpy as np
from safetensors.torch import load_file

LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTER_NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}


def name_of(name):
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[part]}.weight"


def pairs(weight, heads):
    """Rows of a query or key matrix from Hugging Face's order (first halves of a rotation, then second ones) to GGUF's (pairs side by side)."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_config(writer, config):
    heads = config["num_attention_heads"]
    head_width = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_width)
    writer.add_value_length(head_width)
    writer.add_rope_dimension_count(head_width)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")


def write(folder, out, format):
    config = json.loads((folder / "config.json").read_text())
    if config["model_type"] != "llama" or config.get("rope_scaling"):
        raise SystemExit(f"{folder}: only a Llama model without rope scaling is converted")
    temporary = out.with_suffix(".part")
    writer = gguf.GGUFWriter(temporary, "llama")
    writer.add_name(folder.name)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if format == "q8_0" else gguf.LlamaFileType.ALL_F32)
    write_config(writer, config)
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    for name, tensor in load_file(folder / "model.safetensors").items():
        value = tensor.float().numpy()
        for part, count in heads.items():
            if name.endswith(f"{part}.weight"):
                value = pairs(value, count)
        value = np.ascontiguousarray(value)
        if format == "q8_0" and value.ndim == 2:
            writer.add_tensor(name_of(name), gguf.quantize(value, gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name_of(name), value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    # A conversion that was cut off leaves no file that looks whole.
    os.replace(temporary, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--format", choices=["f32", "q8_0"], default="f32")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.folder, options.out, options.format)
    print(f"{options.out}: {options.out.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
