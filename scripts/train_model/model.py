"""The model, its training step and the masks that training and the ablation need."""

import math
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

VOCABULARY = 256
WHOLE_ROW = 1 << 30  # an attention window that limits nothing


def config(layers: int = 6, hidden: int = 160, mlp: int = 448) -> Qwen3_5TextConfig:
    return Qwen3_5TextConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=mlp, num_hidden_layers=layers,
        layer_types=["full_attention"] + ["linear_attention"] * (layers - 1),
        num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        linear_num_key_heads=4, linear_num_value_heads=4, linear_key_head_dim=32,
        linear_value_head_dim=32, linear_conv_kernel_dim=4, tie_word_embeddings=True,
        max_position_embeddings=4096, bos_token_id=None, eos_token_id=None, pad_token_id=None,
        dtype="float32")


def new_model(seed: int, **sizes: int) -> Qwen3_5ForCausalLM:
    torch.manual_seed(seed)
    return Qwen3_5ForCausalLM(config(**sizes))


def masks(windows: torch.Tensor, length: int) -> dict[str, torch.Tensor | None]:
    """For each row, attention that sees its last `windows[row]` positions, the query's included."""
    positions = torch.arange(length, device=windows.device)
    distance = positions[:, None] - positions[None, :]
    seen = (distance >= 0) & (distance < windows[:, None, None])
    return {"full_attention": seen[:, None], "linear_attention": None}


def logits_of(model: Qwen3_5ForCausalLM, ids: torch.Tensor, windows: torch.Tensor) -> torch.Tensor:
    return model(input_ids=ids, attention_mask=masks(windows, ids.shape[1]), use_cache=False).logits


def next_byte_losses(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """[rows, length - 1] nats, of each byte but the first."""
    flat = functional.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), ids[:, 1:].reshape(-1),
                                    reduction="none")
    return flat.view(ids.shape[0], -1)


class RowDropout:
    """Dropout on what embedding, mixers and MLPs give, with a rate for each row of the batch:
    text is learnt by heart without it, and recall is learnt worse with it."""

    def __init__(self, model: Qwen3_5ForCausalLM) -> None:
        self.rates: torch.Tensor | None = None  # [rows]; None: no dropout
        for module in _outputs(model):
            module.register_forward_hook(self._drop)

    def _drop(self, _module: nn.Module, _inputs: object, output: object) -> object:
        if self.rates is None:
            return output
        if isinstance(output, tuple):
            return (self._masked(output[0]), *output[1:])
        return self._masked(output)

    def _masked(self, hidden: torch.Tensor) -> torch.Tensor:
        rates = self.rates[:, None, None]
        return hidden * (torch.rand_like(hidden) >= rates) / (1.0 - rates)


def _outputs(model: Qwen3_5ForCausalLM) -> Iterator[nn.Module]:
    yield model.model.embed_tokens
    for layer in model.model.layers:
        yield layer.self_attn if layer.block_type == "full_attention" else layer.linear_attn
        yield layer.mlp


def optimizer_of(model: nn.Module, rate: torch.Tensor, decay: float) -> torch.optim.AdamW:
    """Weight decay on matrices only: norms, decays of the recurrence and convolutions have none."""
    matrices = [one for one in model.parameters() if one.ndim == 2]
    others = [one for one in model.parameters() if one.ndim != 2]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    on_gpu = rate.device.type == "cuda"
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=on_gpu, capturable=on_gpu)


def learning_rate(step: int, steps: int, peak: float, final: float, warm_up: int = 200) -> float:
    """Linear to the peak, then a half cosine to the final rate."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return final + (peak - final) * 0.5 * (1.0 + math.cos(math.pi * done))


class TrainingStep:
    """One step of AdamW. On a GPU it is captured once as a CUDA graph and replayed: the model is
    small, so that launching its kernels one by one takes longer than running them."""

    def __init__(self, model: Qwen3_5ForCausalLM, dropout: RowDropout,
                 example: dict[str, torch.Tensor], decay: float, graph: bool) -> None:
        device = next(model.parameters()).device
        self.model = model
        self.dropout = dropout
        self.rate = torch.zeros((), device=device)
        self.optimizer = optimizer_of(model, self.rate, decay)
        self.inputs = {name: value.to(device) for name, value in example.items()}
        self.losses: tuple[torch.Tensor, ...] = ()
        self.graph = self._captured() if graph else None

    def __call__(self, batch: dict[str, torch.Tensor], rate: float) -> tuple[torch.Tensor, ...]:
        """(mean text loss, mean loss of the answer digits) in nats, before the step."""
        for name, value in batch.items():
            self.inputs[name].copy_(value, non_blocking=True)
        self.rate.fill_(rate)
        if self.graph is None:
            self._step()
        else:
            self.graph.replay()
        return self.losses

    def _step(self) -> None:
        ids, weights = self.inputs["ids"], self.inputs["weights"][:, 1:]
        self.dropout.rates = self.inputs["dropout"]
        logits = logits_of(self.model, ids, self.inputs["windows"])
        self.dropout.rates = None
        losses = next_byte_losses(logits, ids)
        self.optimizer.zero_grad(set_to_none=True)
        ((losses * weights).sum() / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        kinds = (self.inputs["text_bytes"][:, 1:], self.inputs["answers"][:, 1:])
        self.losses = tuple(((losses * kind).sum() / kind.sum()).detach() for kind in kinds)

    def _captured(self) -> torch.cuda.CUDAGraph:
        """The rate is 0 while warming up, and the moments are cleared after it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        for state in self.optimizer.state.values():
            for value in state.values():
                value.zero_()
        return graph
