"""
Writes critic_golden.json: the gradient by the values of the critic's loss that SkyRL-Train has (package skyrl 0.3.0, ppo_critic_loss), for a padded
batch. The functions are cut out of their file: importing it takes Ray.
"""
import ast
import importlib.util
import json
import pathlib
from typing import Optional, Tuple

import torch

root = pathlib.Path(importlib.util.find_spec("skyrl").submodule_search_locations[0])


def cut(names, files):
    """The functions of these names, wherever in the files they are."""
    found = {"torch": torch, "Optional": Optional, "Tuple": Tuple, "AlgorithmConfig": object}
    for file in files:
        for node in ast.parse((root / file).read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name in names:
                node.decorator_list = []
                exec(compile(ast.Module([node], []), file, "exec"), found)
    return found


files = ["backends/skyrl_train/utils/torch_utils.py", "backends/skyrl_train/utils/ppo_utils.py"]
loss_of = cut({"masked_mean", "ppo_critic_loss"}, files)["ppo_critic_loss"]


class Config:
    value_clip = 1e6


torch.manual_seed(3)
lengths = [7, 4, 5]
longest = max(lengths)
weights = torch.zeros(len(lengths), longest)
for row, length in enumerate(lengths):
    # Padded on the left, as the server does.
    weights[row, longest - length :] = (torch.rand(length) < 0.7).float()
    weights[row, -1] = 1
values = torch.randn(len(lengths), longest)
returns = torch.randn(len(lengths), longest)
moving = values.clone().requires_grad_(True)
loss, _ = loss_of(moving, values, returns, Config, weights)
loss.backward()


def tails(tensor):
    return [tensor[row, longest - length :].tolist() for row, length in enumerate(lengths)]


golden = {name: tails(tensor) for name, tensor in
          {"weights": weights, "values": values, "returns": returns, "gradient": moving.grad}.items()}
pathlib.Path(__file__).with_name("critic_golden.json").write_text(json.dumps(golden) + "\n")
