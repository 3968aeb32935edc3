#!/usr/bin/env python3
"""Rules of the training lines and of the corpus. Needs neither torch nor the corpus."""

import unittest
from random import Random

import corpus
import tasks

TEXTS = [b"a piece of text\nwith # and ? " * 100]


def queries(text: str) -> list[tuple[str, str, str]]:
    """(what precedes it since its `#`, letter, answer) of each whole query."""
    found = []
    for line in text.split("\n"):
        at = line.find("?")
        while at >= 0:
            if at + 4 <= len(line):
                found.append((line[1:at], line[at + 1], line[at + 3]))
            at = line.find("?", at + 1)
    return found


def pairs_of(dense: str) -> str:
    """The pairs of a dense line without its queries."""
    parts = dense.split("?")
    return parts[0] + "".join(part[4:] for part in parts[1:])


class RecallLine(unittest.TestCase):
    def test_a_letter_that_comes_again_has_its_last_digit(self) -> None:
        self.assertEqual(tasks.last_digits("k7b3k1"), {"k": "1", "b": "3"})
        self.assertEqual(tasks.Prompt("k7b3k1", b"", "k").digit, "1")

    def test_answers_stand_where_the_line_says_and_count_four_times(self) -> None:
        line = tasks.recall_line(Random(1), TEXTS)
        self.assertGreaterEqual(len(line.answers), 1)
        self.assertEqual(len(line.weights), len(line.text))
        for answer in line.answers:
            self.assertEqual(line.text[answer - 1:answer], b"=")
            self.assertEqual(line.text[answer + 1:answer + 2], b".")
            self.assertEqual(line.weights[answer], 4.0)

    def test_sizes_stay_within_their_limits(self) -> None:
        for seed in range(200):
            text = tasks.recall_line(Random(seed), TEXTS).text.decode()
            head, *asked = text.split("?")
            self.assertIn(len(asked), range(1, 9))
            self.assertIn(len(head), range(1 + 2 * 2, 1 + 2 * 24 + 120 + 1))

    def test_an_easy_line_has_two_or_three_pairs_and_no_filler(self) -> None:
        lengths = {tasks.recall_line(Random(seed), TEXTS, 0.0).text.index(b"?")
                   for seed in range(50)}
        self.assertEqual(lengths, {1 + 2 * 2, 1 + 2 * 3})

    def test_filler_has_no_marks_and_is_one_line(self) -> None:
        text = tasks.filler(Random(3), TEXTS, 60)
        self.assertEqual(len(text), 60)
        self.assertFalse(set(text) & set(b"#?\n"))


class DenseLine(unittest.TestCase):
    def test_has_one_to_eight_blocks_of_two_to_twelve_pairs(self) -> None:
        for seed in range(200):
            text = tasks.dense_line(Random(seed)).text.decode()
            blocks = [block for block in text[1:].split(".") if not block.startswith("?")]
            pairs = [block.split("?")[0] for block in blocks if block]
            self.assertIn(len(pairs), range(1, 9))
            for block in pairs:
                self.assertIn(len(block), range(4, 25, 2))

    def test_a_query_sees_only_the_pairs_before_it(self) -> None:
        text = tasks.dense_line(Random(5)).text.decode()
        for before, letter, digit in queries(text):
            self.assertEqual(tasks.last_digits(pairs_of(before))[letter], digit)


class Row(unittest.TestCase):
    def test_is_512_bytes_and_repeats_with_its_seed(self) -> None:
        for seed in range(20):
            row = tasks.recall_row(Random(seed), TEXTS)
            self.assertEqual((len(row.text), len(row.weights)), (512, 512))
            self.assertLess(max(row.answers), 512)
            self.assertTrue(all(chr(row.text[answer]) in "0123456789" for answer in row.answers))
            self.assertEqual(row, tasks.recall_row(Random(seed), TEXTS))

    def test_of_text_is_a_window_of_one_text(self) -> None:
        line = tasks.text_row(Random(2), [b"too short", TEXTS[0]])
        self.assertEqual(len(line.text), 512)
        self.assertIn(bytes(line.text), TEXTS[0])
        self.assertEqual(line.answers, [])


class Prompt(unittest.TestCase):
    def test_is_head_filler_and_query(self) -> None:
        prompt = tasks.Prompt("k7b3", b" text ", "b")
        self.assertEqual(prompt.text, b"#k7b3 text ?b=")
        self.assertEqual(prompt.head, b"#k7b3")
        self.assertEqual(prompt.digit, "3")

    def test_asks_for_the_last_pair(self) -> None:
        for seed in range(50):
            prompt = tasks.last_pair_prompt(Random(seed), TEXTS, pairs=(2, 8), filler_bytes=(0, 0))
            self.assertEqual(prompt.letter, prompt.pairs[-2])
            self.assertEqual(prompt.digit, prompt.pairs[-1])
            self.assertIn(len(prompt.text), range(1 + 4 + 3, 1 + 16 + 3 + 1))

    def test_the_last_pair_counts_unless_the_letter_had_that_digit(self) -> None:
        self.assertTrue(tasks.Prompt("a1b2", b"", "b").last_pair_changes_the_answer)
        self.assertTrue(tasks.Prompt("b1b2", b"", "b").last_pair_changes_the_answer)
        self.assertFalse(tasks.Prompt("b2b2", b"", "b").last_pair_changes_the_answer)
        self.assertTrue(tasks.Prompt("b2b1b2", b"", "b").last_pair_changes_the_answer)


class Curriculum(unittest.TestCase):
    def test_limits_grow_linearly(self) -> None:
        self.assertEqual([tasks.most_at(part, 3, 24) for part in (0.0, 0.5, 1.0)], [3, 14, 24])


class Corpus(unittest.TestCase):
    def test_the_header_ends_where_the_first_line_starts(self) -> None:
        text = b"00-database\nsee first\n  first\nsecond\n"
        self.assertEqual(corpus.cut_header(text, b"first\n"), b"first\nsecond\n")
        with self.assertRaises(corpus.CorpusError):
            corpus.cut_header(text, b"third")

    def test_blanks_collapse_and_bytes_above_126_go(self) -> None:
        self.assertEqual(corpus.clean(b"a \t b\xe2\x80\x9cc\x7f\n\n\n\n   d  \ne"), b"a bc\n\nd\ne")

    def test_piece_10_of_each_20_is_held_out(self) -> None:
        text = b"".join(bytes([number]) * 8192 for number in range(40))
        training, held_out = corpus.split(text)
        self.assertEqual([piece[0] for piece in held_out], [10, 30])
        self.assertEqual([len(part) // 8192 for part in training], [10, 19, 9])

    def test_a_text_of_another_version_is_refused(self) -> None:
        with self.assertRaisesRegex(corpus.CorpusError, "dict-jargon 4.4.7-3.1"):
            corpus.check_hash(corpus.SOURCES[0], b"other")

    def test_the_shares_of_the_texts_make_one(self) -> None:
        self.assertAlmostEqual(sum(source.share for source in corpus.SOURCES), 1.0)


if __name__ == "__main__":
    unittest.main()
