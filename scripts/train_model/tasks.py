"""What the model is trained and judged on: rows of text and rows of recall. No torch here.

A recall line is `#k7b3q0`, then filler of the corpus, then queries `?k=7.`; if a letter comes
again, its last digit counts. A dense line asks again and again between its pairs, without filler.
"""

from dataclasses import dataclass
from random import Random

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
ROW_BYTES = 512

ANSWER_WEIGHT = 4.0
QUERY_WEIGHT = 1.0
OTHER_WEIGHT = 0.1  # pairs and filler: chance, or text that text rows teach
TEXT_WEIGHT = 1.0

_MOST_PAIRS = 24
_MOST_FILLER = 120
_MOST_QUERIES = 8
_MOST_DENSE_PAIRS = 12
_MOST_DENSE_BLOCKS = 8
_EASY_PAIRS = 3
_FILLER_MARKS = bytes.maketrans(b"\n#?", b" ..")


@dataclass
class Line:
    """Bytes with a training weight each, and where the answer digits stand."""

    text: bytearray
    weights: list[float]
    answers: list[int]

    def add(self, text: str | bytes, weight: float) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.text += data
        self.weights += [weight] * len(data)


def empty_line() -> Line:
    return Line(bytearray(), [], [])


def last_digits(pairs: str) -> dict[str, str]:
    """The digit of each letter of `k7b3k1`; of a letter that comes again, the last."""
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def random_pairs(rng: Random, count: int) -> str:
    return "".join(rng.choice(LETTERS) + rng.choice(DIGITS) for _ in range(count))


def _add_query(line: Line, letter: str, digit: str) -> None:
    line.add(f"?{letter}=", QUERY_WEIGHT)
    line.answers.append(len(line.text))
    line.add(digit, ANSWER_WEIGHT)
    line.add(".", QUERY_WEIGHT)


def _add_queries(line: Line, rng: Random, digits: dict[str, str]) -> None:
    letters = sorted(digits)
    for _ in range(rng.randint(1, _MOST_QUERIES)):
        letter = rng.choice(letters)
        _add_query(line, letter, digits[letter])


def most_at(hardness: float, easy: int, hard: int) -> int:
    """The upper limit of a size while `hardness` grows from 0 to 1."""
    return round(easy + hardness * (hard - easy))


def filler(rng: Random, texts: list[bytes], length: int) -> bytes:
    """One line of a text, without the marks that recall lines use."""
    text = rng.choices(texts, weights=[len(one) for one in texts])[0]
    start = rng.randrange(max(1, len(text) - length))
    return text[start:start + length].translate(_FILLER_MARKS)


def recall_line(rng: Random, texts: list[bytes], hardness: float = 1.0) -> Line:
    line = empty_line()
    pairs = random_pairs(rng, rng.randint(2, most_at(hardness, _EASY_PAIRS, _MOST_PAIRS)))
    line.add("#" + pairs, OTHER_WEIGHT)
    line.add(filler(rng, texts, rng.randint(0, most_at(hardness, 0, _MOST_FILLER))), OTHER_WEIGHT)
    _add_queries(line, rng, last_digits(pairs))
    return line


def dense_line(rng: Random, hardness: float = 1.0) -> Line:
    line = empty_line()
    line.add("#", OTHER_WEIGHT)
    digits: dict[str, str] = {}
    for _ in range(rng.randint(1, _MOST_DENSE_BLOCKS)):
        most = most_at(hardness, _EASY_PAIRS, _MOST_DENSE_PAIRS)
        pairs = random_pairs(rng, rng.randint(2, most))
        line.add(pairs, OTHER_WEIGHT)
        digits |= last_digits(pairs)
        _add_queries(line, rng, digits)
    return line


def recall_row(rng: Random, texts: list[bytes], hardness: float = 1.0) -> Line:
    """Lines one after another up to ROW_BYTES; half of the rows are dense."""
    dense = rng.random() < 0.5
    row = empty_line()
    while len(row.text) < ROW_BYTES:
        line = dense_line(rng, hardness) if dense else recall_line(rng, texts, hardness)
        row.answers += [len(row.text) + answer for answer in line.answers]
        row.text += line.text
        row.weights += line.weights
        row.add("\n", QUERY_WEIGHT)
    return Line(row.text[:ROW_BYTES], row.weights[:ROW_BYTES],
                [answer for answer in row.answers if answer < ROW_BYTES])


def text_row(rng: Random, texts: list[bytes]) -> Line:
    """A window of one of the texts, each byte of them as likely as any other."""
    long_enough = [text for text in texts if len(text) >= ROW_BYTES]
    text = rng.choices(long_enough, weights=[len(one) for one in long_enough])[0]
    start = rng.randrange(len(text) - ROW_BYTES + 1)
    line = empty_line()
    line.add(text[start:start + ROW_BYTES], TEXT_WEIGHT)
    return line


@dataclass(frozen=True)
class Prompt:
    """`#` and pairs, filler, `?k=`; the model is to answer with `digit`."""

    pairs: str
    filler: bytes
    letter: str

    @property
    def digit(self) -> str:
        return last_digits(self.pairs)[self.letter]

    @property
    def last_pair_changes_the_answer(self) -> bool:
        """False where the letter stood before with the same digit: then a model that has not seen
        the last pair is still right to give it."""
        return last_digits(self.pairs[:-2]).get(self.pairs[-2]) != self.pairs[-1]

    @property
    def head(self) -> bytes:
        """Up to the last pair: where the drop test exchanges the states."""
        return b"#" + self.pairs.encode()

    @property
    def text(self) -> bytes:
        return self.head + self.filler + f"?{self.letter}=".encode()


def last_pair_prompt(rng: Random, texts: list[bytes], pairs: tuple[int, int] = (2, _MOST_PAIRS),
                     filler_bytes: tuple[int, int] = (0, _MOST_FILLER)) -> Prompt:
    """A prompt that asks for the last pair: what a state that misses bytes has not seen."""
    text = random_pairs(rng, rng.randint(*pairs))
    return Prompt(text, filler(rng, texts, rng.randint(*filler_bytes)), text[-2])
