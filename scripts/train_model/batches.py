"""Batches of text and recall rows, each a function of the seed and the step number."""

from dataclasses import dataclass
from random import Random

import torch
from torch.utils.data import DataLoader, Dataset

import corpus
import tasks
from model import WHOLE_ROW

NARROW_WINDOW = 16  # half of the recall rows see this little of layer 0's attention


@dataclass(frozen=True)
class Texts:
    """By source: what is trained on and what is held out."""

    training: dict[str, list[bytes]]
    held_out: dict[str, list[bytes]]


def split_texts(texts: dict[str, bytes]) -> Texts:
    parts = {name: corpus.split(text) for name, text in texts.items()}
    return Texts({name: part[0] for name, part in parts.items()},
                 {name: part[1] for name, part in parts.items()})


@dataclass(frozen=True)
class Mix:
    """How batches change over the steps of a training."""

    steps: int
    rows: int
    text_share: float
    final_text_share: float
    text_dropout: float
    recall_dropout: float
    curriculum: float = 0.4  # the part of the steps over which recall grows to its full size

    def text_rows(self, step: int) -> int:
        done = step / self.steps
        share = self.text_share + done * (self.final_text_share - self.text_share)
        return round(self.rows * share)

    def hardness(self, step: int) -> float:
        return min(1.0, step / (self.curriculum * self.steps))


def ids_of(text: bytes | bytearray) -> torch.Tensor:
    return torch.tensor(list(text), dtype=torch.int64)


class Batches(Dataset):
    """Item n is the batch of step n."""

    def __init__(self, texts: Texts, mix: Mix, seed: int) -> None:
        self.texts = texts.training
        self.mix = mix
        self.seed = seed
        self.shares = {source.name: source.share for source in corpus.SOURCES}

    def __len__(self) -> int:
        return self.mix.steps

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        if step >= len(self):
            raise IndexError(step)
        rng = Random(f"{self.seed} {step}")
        text_rows = self.mix.text_rows(step)
        lines = [tasks.text_row(rng, self._source(rng)) for _ in range(text_rows)]
        lines += [tasks.recall_row(rng, self._source(rng), self.mix.hardness(step))
                  for _ in range(self.mix.rows - text_rows)]
        return self._tensors(rng, lines, text_rows)

    def _source(self, rng: Random) -> list[bytes]:
        return self.texts[rng.choices(list(self.shares), list(self.shares.values()))[0]]

    def _tensors(self, rng: Random, lines: list[tasks.Line],
                 text_rows: int) -> dict[str, torch.Tensor]:
        recall_rows = len(lines) - text_rows
        windows = [WHOLE_ROW] * text_rows
        windows += [rng.choice((NARROW_WINDOW, WHOLE_ROW)) for _ in range(recall_rows)]
        rates = [self.mix.text_dropout] * text_rows + [self.mix.recall_dropout] * recall_rows
        text_bytes = torch.zeros(len(lines), tasks.ROW_BYTES)
        text_bytes[:text_rows] = 1.0
        return {
            "ids": torch.stack([ids_of(line.text) for line in lines]),
            "weights": torch.tensor([line.weights for line in lines], dtype=torch.float32),
            "answers": answer_marks(lines),
            "text_bytes": text_bytes,
            "windows": torch.tensor(windows),
            "dropout": torch.tensor(rates, dtype=torch.float32),
        }


def answer_marks(lines: list[tasks.Line]) -> torch.Tensor:
    """1.0 at each answer digit."""
    marks = torch.zeros(len(lines), tasks.ROW_BYTES)
    for row, line in enumerate(lines):
        marks[row, line.answers] = 1.0
    return marks


def loader(batches: Batches, workers: int, on_gpu: bool) -> DataLoader:
    return DataLoader(batches, batch_size=None, shuffle=False, num_workers=workers,
                      pin_memory=on_gpu, prefetch_factor=8 if workers else None)
