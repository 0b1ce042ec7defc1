"""Turn the student's weights into the model that ships: ONNX with a byte a weight.

    python tools/judge_model/export.py WEIGHTS... --out src/recall_bench/text/encoder/model

Needs torch, transformers, onnx and onnxruntime, and no accelerator. The model reads one row at a
time, so that a verdict does not depend on what is read beside it.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from torch import nn
from torch.nn import functional
from train import CLAIM, Encoder, load_weights
from transformers import BertConfig, BertModel


class Exported(nn.Module):
    """One row in, the logits of its marks and of every token as a claim out."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids, types):  # type: ignore[no-untyped-def]
        """Logits of the marks, logits of the claims, and what the first token holds."""
        encoder = self.encoder
        hidden = encoder.body(
            input_ids=ids, token_type_ids=types, attention_mask=torch.ones_like(ids)
        ).last_hidden_state
        first = functional.gelu(encoder.dense(hidden[:, 0]))
        claims = encoder.claim(functional.gelu(encoder.claim_dense(hidden))).squeeze(-1)
        return encoder.marks(first), claims, hidden


def build(files: list[Path], layers: int) -> Exported:
    """The encoder with its weights."""
    config = BertConfig(
        vocab_size=12000,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        attn_implementation="eager",
    )
    encoder = Encoder(BertModel(config, add_pooling_layer=False), 384, 0)
    load_weights(encoder, files, "cpu")
    return Exported(encoder.eval())


def main() -> None:
    """Export, optimise and quantise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model = build(options.weights, options.layers)
    ids = torch.randint(200, 11000, (1, 40))
    ids[0, 20] = CLAIM + 1
    types = (torch.arange(40) >= 20).long()[None]
    with tempfile.TemporaryDirectory() as folder:
        whole, fused = Path(folder) / "whole.onnx", Path(folder) / "fused.onnx"
        torch.onnx.export(
            model,
            (ids, types),
            str(whole),
            input_names=["ids", "types"],
            output_names=["marks", "claims", "hidden"],
            opset_version=17,
            dynamo=False,
            dynamic_axes={
                "ids": {1: "n"},
                "types": {1: "n"},
                "claims": {1: "n"},
                "hidden": {1: "n"},
            },
        )
        optimised = optimizer.optimize_model(
            str(whole), model_type="bert", num_heads=12, hidden_size=384
        )
        optimised.save_model_to_file(str(fused))
        options.out.mkdir(parents=True, exist_ok=True)
        # Seven bits a weight where sums of eight would overflow on processors without VNNI.
        quantize_dynamic(
            str(fused),
            str(options.out / "encoder.onnx"),
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            extra_options={"DefaultTensorType": 1},
            op_types_to_quantize=["MatMul", "Attention", "Gather", "EmbedLayerNormalization"],
        )
        (options.out / "fused.onnx").write_bytes(fused.read_bytes())
    print((options.out / "encoder.onnx").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
