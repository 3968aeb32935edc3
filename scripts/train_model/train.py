#!/usr/bin/env python3
"""Trains the model of scenarios/models/jargon-gdn and writes its folder.

Needs torch and transformers (5.17 or later); a GPU, unless the model is as tiny as --tiny makes it.
Writes config.json, model.safetensors and loss_curve.csv; report.py measures what came out.
"""

import argparse
import csv
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers

import batches
import corpus
import measure
from model import RowDropout, TrainingStep, learning_rate, new_model

_EXAMPLES = """examples:
  train.py build/corpus build/jargon-gdn                         # as the shipped model
  train.py build/corpus build/tiny --tiny --steps 20 --every 10   # on a CPU, to try the script
"""
_TINY = {"layers": 2, "hidden": 32, "mlp": 48}
_CURVE = ("step", "seconds", "text_bits_per_byte", "recall_loss", "held_out_jargon",
          "held_out_devil", "held_out_kjv", "held_out_recall")
_BITS_PER_NAT = 1.4426950408889634


@dataclass(frozen=True)
class Check:
    """Held-out figures while training, of few rows."""

    text: dict[str, float]
    recall: float


class Training:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.texts = batches.split_texts(corpus.load(arguments.corpus))
        self.model = new_model(arguments.seed, **(_TINY if arguments.tiny else {}))
        self.model.to(self.device)
        self.curve: list[dict[str, object]] = []
        held_out = [piece for pieces in self.texts.held_out.values() for piece in pieces]
        self.rows = measure.held_out_rows(arguments.seed + 1, held_out, 32)
        self.started = time.monotonic()

    def run(self) -> None:
        mix = batches.Mix(
            steps=self.arguments.steps, rows=self.arguments.rows,
            text_share=self.arguments.text_share, recall_dropout=self.arguments.recall_dropout,
            final_text_share=self.arguments.final_text_share,
            text_dropout=self.arguments.text_dropout)
        data = batches.Batches(self.texts, mix, self.arguments.seed)
        on_gpu = self.device.type == "cuda"
        step_of = TrainingStep(self.model, RowDropout(self.model), data[0],
                               self.arguments.weight_decay, on_gpu and not self.arguments.eager)
        self.started = time.monotonic()
        for step, batch in enumerate(batches.loader(data, self.arguments.workers, on_gpu)):
            rate = learning_rate(step, mix.steps, self.arguments.rate, self.arguments.final_rate)
            losses = step_of(batch, rate)
            if step % 50 == 0 or step == mix.steps - 1:
                self._note(step, losses)

    def _note(self, step: int, losses: tuple[torch.Tensor, ...]) -> None:
        text, answers = (loss.item() for loss in losses)
        row = {"step": step, "seconds": f"{time.monotonic() - self.started:.1f}",
               "text_bits_per_byte": f"{text * _BITS_PER_NAT:.4f}", "recall_loss": f"{answers:.4f}"}
        if step % self.arguments.every == 0 or step == self.arguments.steps - 1:
            check = self._check()
            row |= {f"held_out_{name}": f"{loss:.4f}" for name, loss in check.text.items()}
            row["held_out_recall"] = f"{check.recall:.4f}"
        self.curve.append(row)
        print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)

    def _check(self) -> Check:
        text = {name: measure.text_loss(self.model, pieces[:8])
                for name, pieces in self.texts.held_out.items()}
        return Check(text, measure.recall(self.model, self.rows).rate)

    def save(self) -> None:
        out = self.arguments.out
        out.mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(out)
        (out / "generation_config.json").unlink(missing_ok=True)
        with (out / "loss_curve.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, _CURVE, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.curve)
        (out / "training.json").write_text(json.dumps(self._settings(), indent=2) + "\n",
                                           encoding="utf-8")

    def _settings(self) -> dict[str, object]:
        settings = {name: value for name, value in vars(self.arguments).items()
                    if name not in ("corpus", "out", "workers", "every")}
        gpu = torch.cuda.get_device_name() if self.device.type == "cuda" else None
        return {**settings, "seconds": round(time.monotonic() - self.started, 1), "gpu": gpu,
                "torch": torch.__version__, "transformers": transformers.__version__,
                "parameters": self.model.num_parameters(),
                "shares": {source.name: source.share for source in corpus.SOURCES}}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=_EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the folder that fetch_corpus wrote")
    parser.add_argument("out", type=Path, help="folder for the model")
    numbers = {"seed": 1, "steps": 6000, "rows": 64, "every": 500, "workers": 0, "rate": 2e-3,
               "final-rate": 1e-4, "weight-decay": 0.1, "text-share": 0.25,
               "final-text-share": 0.125, "text-dropout": 0.15, "recall-dropout": 0.0}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, metavar="N",
                            help=f"default {default}")
    parser.add_argument("--eager", action="store_true", help="no CUDA graph")
    parser.add_argument("--tiny", action="store_true", help="a model of 2 layers of 32")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    torch.set_float32_matmul_precision("high")  # TF32 while training; report.py has it off
    try:
        training = Training(arguments)
    except (corpus.CorpusError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    training.run()
    training.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
