"""What a model can do, in figures: text loss, recall, the drop test and the margins."""

import statistics
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random

import torch
from transformers import DynamicCache, Qwen3_5ForCausalLM

import tasks
from batches import answer_marks, ids_of
from model import WHOLE_ROW, logits_of, next_byte_losses

_ROWS_AT_ONCE = 32
_BITS_PER_NAT = 1.4426950408889634


def _device(model: Qwen3_5ForCausalLM) -> torch.device:
    return next(model.parameters()).device


@torch.no_grad()
def text_loss(model: Qwen3_5ForCausalLM, pieces: Sequence[bytes],
              row_bytes: int = tasks.ROW_BYTES) -> float:
    """Bits per byte over windows that do not overlap; a window's first byte is given."""
    rows = [piece[start:start + row_bytes] for piece in pieces
            for start in range(0, len(piece) - row_bytes + 1, row_bytes)]
    total = 0.0
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        ids = torch.stack([ids_of(row) for row in rows[start:start + _ROWS_AT_ONCE]])
        ids = ids.to(_device(model))
        windows = torch.full((len(ids),), WHOLE_ROW, device=ids.device)
        total += next_byte_losses(logits_of(model, ids, windows), ids).sum().item()
    return total * _BITS_PER_NAT / (len(rows) * (row_bytes - 1))


@dataclass(frozen=True)
class Recall:
    answers: int
    right: int
    margins: list[float]  # of the right digit over the best other byte; negative where wrong

    @property
    def rate(self) -> float:
        return self.right / self.answers

    @property
    def median_margin(self) -> float:
        return statistics.median(self.margins)


def margin_of(logits: torch.Tensor, byte: int) -> float:
    """The byte's logit minus the best other one."""
    others = logits.clone()
    others[byte] = -torch.inf
    return (logits[byte] - others.max()).item()


@torch.no_grad()
def recall(model: Qwen3_5ForCausalLM, lines: list[tasks.Line], window: int = WHOLE_ROW) -> Recall:
    """Answers of whole rows, each digit judged with the right ones before it."""
    margins: list[float] = []
    for start in range(0, len(lines), _ROWS_AT_ONCE):
        part = lines[start:start + _ROWS_AT_ONCE]
        ids = torch.stack([ids_of(line.text) for line in part]).to(_device(model))
        windows = torch.full((len(part),), window, device=ids.device)
        logits = logits_of(model, ids, windows)[:, :-1]
        wanted = answer_marks(part)[:, 1:].to(ids.device) > 0
        logits, digits = logits[wanted], ids[:, 1:][wanted][:, None]
        right = logits.gather(1, digits)
        margins += (right - logits.scatter(1, digits, -torch.inf).max(1, keepdim=True).values)[
            :, 0].tolist()
    return Recall(len(margins), sum(margin > 0 for margin in margins), margins)


def held_out_rows(seed: int, texts: list[bytes], count: int) -> list[tasks.Line]:
    rng = Random(f"held out {seed}")
    return [tasks.recall_row(rng, texts) for _ in range(count)]


def held_out_prompts(seed: int, texts: list[bytes], count: int,
                     **sizes: tuple[int, int]) -> list[tasks.Prompt]:
    rng = Random(f"held out prompts {seed}")
    return [tasks.last_pair_prompt(rng, texts, **sizes) for _ in range(count)]


@dataclass(frozen=True)
class Answer:
    byte: int
    margin: float  # of the right digit


def _cache_after(model: Qwen3_5ForCausalLM, text: bytes) -> DynamicCache:
    cache = DynamicCache(config=model.config)
    model(input_ids=ids_of(text)[None].to(_device(model)), past_key_values=cache, use_cache=True)
    return cache


def _exchange_states(cache: DynamicCache, other: DynamicCache) -> None:
    """The convolution and recurrent states of all layers; the attention's keys stay."""
    for mine, foreign in zip(cache.layers, other.layers, strict=True):
        if hasattr(mine, "recurrent_states"):
            mine.conv_states = deepcopy(foreign.conv_states)
            mine.recurrent_states = deepcopy(foreign.recurrent_states)


@torch.no_grad()
def answer(model: Qwen3_5ForCausalLM, prompt: tasks.Prompt, missing: int = 0) -> Answer:
    """The answer with states that missed the last `missing` bytes of the pairs."""
    cache = _cache_after(model, prompt.head)
    _exchange_states(cache, _cache_after(model, prompt.head[:len(prompt.head) - missing]))
    rest = ids_of(prompt.text[len(prompt.head):])[None].to(_device(model))
    logits = model(input_ids=rest, past_key_values=cache, use_cache=True).logits[0, -1]
    return Answer(int(logits.argmax()), margin_of(logits, ord(prompt.digit)))


def wrong(model: Qwen3_5ForCausalLM, prompts: list[tasks.Prompt], missing: int) -> list[bool]:
    """For each prompt, whether its answer is wrong with so many bytes missing."""
    return [answer(model, prompt, missing).byte != ord(prompt.digit) for prompt in prompts]
