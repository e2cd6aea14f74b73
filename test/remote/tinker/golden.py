"""Writes golden.json: messages of the official client's own protobuf classes (package tinker), as hexadecimal bytes."""
import json
import pathlib

import numpy as np
from tinker.proto import tinker_public_pb2 as pb


def request(loss, forward_only, config):
    message = pb.ForwardBackwardRequest(model_id="m-1", seq_id=300, loss_fn=loss, forward_only=forward_only)
    for name, value in config.items():
        message.loss_fn_config[name] = value
    datum = message.data.add()
    datum.model_input.add().encoded_text.tokens = np.array([5, 300, 7], np.int32).tobytes()
    tensors = {
        "target_tokens": (np.array([300, 7, 70000], np.int64), pb.DTYPE_INT64),
        "logprobs": (np.array([-0.5, -1.25, -2], np.float32), pb.DTYPE_FLOAT32),
        "advantages": (np.array([0, 1.5, -3], np.float32), pb.DTYPE_FLOAT32),
    }
    parts = []
    for name, (values, dtype) in tensors.items():
        one = pb.Datum()
        one.loss_fn_inputs[name].CopyFrom(pb.Tensor(dense=values.tobytes(), dtype=dtype, shape=values.shape))
        parts.append(one.SerializeToString())
    # A map has no order of its own: its entries are written in ours.
    model = pb.Datum(model_input=datum.model_input).SerializeToString()
    body = model + b"".join(parts)
    del message.data[:]
    whole = pb.ForwardBackwardRequest(model_id="m-1", seq_id=300).SerializeToString()
    whole += b"\x1a" + bytes([len(body) & 127 | 128, len(body) >> 7] if len(body) > 127 else [len(body)]) + body
    rest = pb.ForwardBackwardRequest(loss_fn=loss, forward_only=forward_only)
    for name, value in config.items():
        rest.loss_fn_config[name] = value
    check = pb.ForwardBackwardRequest.FromString(whole + rest.SerializeToString())
    assert len(check.data) == 1 and len(check.data[0].loss_fn_inputs) == 3
    return (whole + rest.SerializeToString()).hex()


def output(last):
    message = pb.ForwardBackwardOutput(loss_fn_output_type="scalar")
    message.metrics["loss:sum"] = 2.5
    record = message.loss_fn_outputs.add(num_datums=2)
    data = np.array([-0.5, -1, -2, -3, -4], np.float32).tobytes()
    offsets = np.array([0, 8, last], np.int64).tobytes()
    record.fields["logprobs"].CopyFrom(pb.BatchedTensor(data=data, offsets=offsets, dtype=pb.DTYPE_FLOAT32))
    return message.SerializeToString().hex()


sample = pb.SampleResponse(prompt_logprobs=np.array([np.nan, -2], np.float32).tobytes())
sample.sequences.add(
    stop_reason=pb.STOP_REASON_LENGTH,
    tokens=np.array([3, 70000], np.int32).tobytes(),
    logprobs=np.array([-0.5, -1.5], np.float32).tobytes(),
)
golden = {
    "request": request("importance_sampling", False, {}),
    "forwardOnly": request("ppo", True, {"clip_low_threshold": 0.75}),
    "output": output(20),
    "outside": output(24),
    "sample": sample.SerializeToString().hex(),
}
pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(golden, indent=2) + "\n")
