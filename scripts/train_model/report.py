#!/usr/bin/env python3
"""Measures a trained model against its goals and writes report.json and prompts.json beside it.

All on held-out data, in float32 without TF32. Exits with 1 if a goal is missed.
"""

import argparse
import hashlib
import json
import operator
import sys
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

import torch
import transformers
from transformers import Qwen3_5ForCausalLM

import batches
import corpus
import measure
import tasks

_EXAMPLES = """examples:
  report.py build/corpus build/jargon-gdn
  report.py --rows 4 --prompts 5 build/corpus build/tiny   # quick, to try the script
"""
_NARROW_WINDOW = 16
_LONG_ROW_BYTES = 2048
_MOST_BYTES = 8_000_000
_MOST_DROPPED = 3
_DEMONSTRATION_MARGIN = 5.0
# (how many, pairs, filler bytes)
_DEMONSTRATIONS = ((5, (2, 8), (0, 0)), (3, (2, 8), (4, 20)), (4, (4, 12), (40, 170)))
_RELATIONS = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Goal:
    figure: str
    relation: str
    limit: float

    def met(self, figures: dict[str, float]) -> bool:
        return _RELATIONS[self.relation](figures[self.figure], self.limit)


def _goals() -> list[Goal]:
    return [
        Goal("recall", ">=", 0.99),
        Goal("recall_answers", ">=", 1000),
        Goal("text_bits_per_byte", "<=", 2.6),
        Goal("text_bits_per_byte_jargon", "<=", 2.6),
        Goal("drop_0_right", ">=", 0.99),
        *(Goal(f"drop_{missing}_wrong", ">=", 0.85) for missing in range(1, _MOST_DROPPED + 1)),
        Goal("recall_attention_16", ">=", 0.85),
        Goal("median_margin", ">=", 3.0),
        Goal("file_bytes", "<=", _MOST_BYTES),
    ]


class Report:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.texts = batches.split_texts(corpus.load(arguments.corpus)).held_out
        self.pieces = [piece for pieces in self.texts.values() for piece in pieces]
        self.model = Qwen3_5ForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
        self.model.to(device).eval()
        self.device_name = torch.cuda.get_device_name() if device == "cuda" else "CPU"

    def figures(self) -> dict[str, float]:
        rows = measure.held_out_rows(self.arguments.seed, self.pieces, self.arguments.rows)
        whole = measure.recall(self.model, rows)
        narrow = measure.recall(self.model, rows, _NARROW_WINDOW)
        return {
            "recall": round(whole.rate, 5),
            "recall_answers": whole.answers,
            "median_margin": round(whole.median_margin, 3),
            "recall_attention_16": round(narrow.rate, 5),
            **self._text(),
            **self._drops("drop"),
            **self._drops("short_drop", pairs=(2, 8), filler_bytes=(0, 0)),
            "file_bytes": (self.arguments.model / "model.safetensors").stat().st_size,
        }

    def _text(self) -> dict[str, float]:
        losses = {name: measure.text_loss(self.model, pieces)
                  for name, pieces in self.texts.items()}
        shares = {source.name: source.share for source in corpus.SOURCES}
        mixed = sum(shares[name] * loss for name, loss in losses.items())
        jargon = self.texts["jargon"]
        long = measure.text_loss(self.model, jargon, _LONG_ROW_BYTES)
        return {"text_bits_per_byte": round(mixed, 4),
                **{f"text_bits_per_byte_{name}": round(loss, 4) for name, loss in losses.items()},
                f"text_bits_per_byte_jargon_rows_of_{_LONG_ROW_BYTES}": round(long, 4)}

    def _drops(self, name: str, **sizes: tuple[int, int]) -> dict[str, float]:
        prompts = measure.held_out_prompts(self.arguments.seed, self.pieces,
                                           self.arguments.prompts, **sizes)
        changed = [prompt.last_pair_changes_the_answer for prompt in prompts]
        figures: dict[str, float] = {}
        for missing in range(_MOST_DROPPED + 1):
            wrong = measure.wrong(self.model, prompts, missing)
            if missing == 0:
                figures[f"{name}_0_right"] = round(1.0 - sum(wrong) / len(wrong), 4)
                continue
            figures[f"{name}_{missing}_wrong"] = round(sum(wrong) / len(wrong), 4)
            share = sum(compress(wrong, changed)) / max(1, sum(changed))
            figures[f"{name}_{missing}_wrong_where_the_pair_counts"] = round(share, 4)
        return figures

    def demonstrations(self) -> list[dict[str, object]]:
        """Prompts answered right with a wide margin, and wrong whenever bytes are missing."""
        found: list[dict[str, object]] = []
        for part, (number, pairs, filler_bytes) in enumerate(_DEMONSTRATIONS, start=1):
            prompts = measure.held_out_prompts(
                self.arguments.seed + part, self.texts["jargon"], self.arguments.tries,
                pairs=pairs, filler_bytes=filler_bytes)
            shown = (self._demonstration(prompt) for prompt in prompts)
            found += islice((one for one in shown if one is not None), number)
        return found

    def _demonstration(self, prompt: tasks.Prompt) -> dict[str, object] | None:
        if prompt.filler and not prompt.filler.startswith(b" "):
            return None  # pairs and filler would read as one word
        right = measure.answer(self.model, prompt)
        if right.margin < _DEMONSTRATION_MARGIN:
            return None
        dropped = [measure.answer(self.model, prompt, missing)
                   for missing in range(1, _MOST_DROPPED + 1)]
        if any(chr(one.byte) not in tasks.DIGITS or one.margin > 0 for one in dropped):
            return None
        return {"prompt": prompt.text.decode(), "answer": prompt.digit,
                "margin": round(right.margin, 2), "state_exchanged_after_bytes": len(prompt.head),
                "answer_with_bytes_missing": {str(missing): chr(one.byte) for missing, one
                                              in enumerate(dropped, start=1)}}

    def document(self) -> dict[str, object]:
        figures = self.figures()
        goals = [{"figure": goal.figure, "goal": f"{goal.relation} {goal.limit:g}",
                  "measured": figures[goal.figure], "met": goal.met(figures)}
                 for goal in _goals()]
        training = self.arguments.model / "training.json"
        return {
            "goals": goals, "figures": figures,
            "measured_on": {"device": self.device_name, "torch": torch.__version__,
                            "transformers": transformers.__version__, "tf32": False,
                            "seed": self.arguments.seed, "rows": self.arguments.rows,
                            "prompts_for_each_drop": self.arguments.prompts},
            "training": json.loads(training.read_text(encoding="utf-8")),
            "corpus": [_corpus_entry(source, self.texts[source.name])
                       for source in corpus.SOURCES],
            "model_sha256": hashlib.sha256(
                (self.arguments.model / "model.safetensors").read_bytes()).hexdigest(),
        }


def _corpus_entry(source: corpus.Source, held_out: list[bytes]) -> dict[str, object]:
    return {"name": source.name, "title": source.title, "package": source.package,
            "version": source.version, "licence": "public domain", "sha256": source.sha256,
            "held_out_bytes": sum(len(piece) for piece in held_out)}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=_EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the folder that fetch_corpus wrote")
    parser.add_argument("model", type=Path, help="the folder that train.py wrote")
    for name, default, what in (("rows", 128, "recall rows of 512 bytes"),
                                ("prompts", 100, "prompts for each drop length"),
                                ("tries", 200, "prompts to choose demonstrations from"),
                                ("seed", 1000, "of the held-out rows and prompts")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{what} (default {default})")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    if not (arguments.model / "training.json").exists():
        print(f"report.py: {arguments.model} is no folder of train.py", file=sys.stderr)
        return 1
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        report = Report(arguments)
        document = report.document()
    except (corpus.CorpusError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    _write(arguments.model / "report.json", document)
    _write(arguments.model / "prompts.json", report.demonstrations())
    for goal in document["goals"]:
        print(f"{'met   ' if goal['met'] else 'MISSED'} {goal['figure']} {goal['measured']} "
              f"(goal {goal['goal']})")
    return 0 if all(goal["met"] for goal in document["goals"]) else 1


if __name__ == "__main__":
    sys.exit(main())
