"""What an engine's thread hands over (_native.StepValues), with tensors that only look like torch's;
device_copies_test has real ones."""

import array
import json
import os
import tempfile
import unittest

import small_engine
from hybridscope import _native
from hybridscope.hybridscope_trace import Values
from hybridscope.vllm.writers import LiveWriter
from small_engine import Object


class Type(Object):
    """A dtype."""

    def __hash__(self):
        return hash(self.char)


INT32, BFLOAT16 = Type(char="i", itemsize=4), Type(char="E", itemsize=2)


class Tensor:
    """One dimension of a device's numbers."""

    is_cpu, device = False, "the device"

    def __init__(self, numbers, dtype=INT32, contiguous=True):
        self.numbers, self.dtype, self.shape = numbers, dtype, (len(numbers),)
        self._contiguous = contiguous

    def __len__(self):
        return len(self.numbers)

    def is_contiguous(self):
        return self._contiguous

    def contiguous(self):
        return Tensor(list(self.numbers))


class Copies:
    """What copies tensors."""

    def __init__(self):
        self.launched, self.error = [], None

    def launch(self, tensors):
        self.launched.append([tensor.numbers for tensor in tensors])
        numbers = array.array("i", [number for tensor in tensors for number in tensor.numbers])
        return Object(bytes=self._bytes(numbers))

    def _bytes(self, numbers):
        def give():
            if self.error is not None:
                raise self.error
            return numbers
        return give


class Asked:
    """An array that has neither a buffer nor a list."""

    def __init__(self, numbers):
        self._numbers = numbers

    def tolist(self):
        return self._numbers


class OnADevice(unittest.TestCase):
    def setUp(self):
        self.copies = Copies()
        self.values = _native.StepValues(Tensor, {INT32: INT32}, lambda device: self.copies)

    def test_tensors_come_with_the_next_launch_each_once(self):
        first, second = Tensor([1, 2]), Tensor([3], contiguous=False)
        taken = self.values.snapshot([first, second, first])
        fields = self.values.fields({"count": 7, "blocks": first}, {})
        self.values.launch()
        self.assertEqual(self.copies.launched, [[[1, 2], [3]]])
        self.assertEqual(taken.tolist(), [[1, 2], [3], [1, 2]])
        self.assertEqual(fields.tolist(), {"count": 7, "blocks": [1, 2]})
        self.values.launch()
        self.assertEqual(len(self.copies.launched), 1)  # nothing is left

    def test_tensors_of_other_types_are_left_out(self):
        taken = self.values.fields({"half": Tensor([1], BFLOAT16), "count": 1}, {})
        self.assertEqual(taken.tolist(), {"count": 1})

    def test_what_was_not_launched_is_an_error(self):
        taken = self.values.snapshot(Tensor([1]))
        with self.assertRaisesRegex(RuntimeError, "an array of the device was not launched"):
            taken.tolist()

    def test_an_error_of_the_device_is_told(self):
        taken = self.values.snapshot(Tensor([1]))
        self.values.launch()
        self.copies.error = ValueError("the device is gone")
        with self.assertRaisesRegex(RuntimeError, "the device is gone"):
            taken.tolist()


class LikeValues(unittest.TestCase):
    """Both ways to take values give the same JSON."""

    FIELDS = {
        "unknown_first": object(), "number": 3, "none": None, "flag": True, "real": 0.5,
        "text": "x \" y", "list": [1, [2, object()], (3,)], "dict": {1: {"a": Asked([4])}},
        "set": {3, 1}, "bytes": b"ab", "asked": Asked([5]), "asked_number": Asked(6),
        "unknown_last": object()}

    def test_fields(self):
        values = _native.StepValues(None, {}, None)
        self.assertEqual(values.fields(self.FIELDS, {}).tolist(), Values().fields(self.FIELDS, {}))

    def test_snapshots(self):
        values = _native.StepValues(None, {}, None)
        for name, value in self.FIELDS.items():
            self.assertEqual(values.snapshot(value).tolist(), Values().snapshot(value), name)

    def test_arrays_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy")
        numbers = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)
        fields = {"matrix": numbers, "strided": numbers[:, ::2], "number": numbers[1, 1],
                  "other_order": numbers.astype(">i4"), "half": numbers.astype(numpy.float16),
                  "no_rows": numbers[:0], "no_half": numpy.zeros((0, 4), numpy.float16),
                  "none": numbers[0, :0], "flags": numbers > 3, "cube": numbers.reshape(1, 3, 4)}
        values = _native.StepValues(None, {}, None)
        self.assertEqual(values.fields(fields, {}).tolist(), Values().fields(fields, {}))
        for rows in (numpy.array([2, 0]), numpy.array([2, 0], dtype=numpy.int32)):
            self.assertEqual(values.rows(numbers, rows).tolist(), [[8, 9, 10, 11], [0, 1, 2, 3]])
        with self.assertRaisesRegex(ValueError, "rows of an array: no array, or no rows"):
            values.rows(numbers, numpy.array([1], dtype=numpy.int16))


class Copied(Values):
    """DeviceCopies of the tensors above."""

    def __init__(self, copies):
        values = _native.StepValues(Tensor, {INT32: INT32}, lambda device: copies)
        self.snapshot, self.part, self.fields = values.snapshot, values.part, values.fields
        self.launch = values.launch


class ARecordingThatEnds(unittest.TestCase):
    """The third forward pass of an asynchronous engine fails; the second's output never came."""

    def steps(self, copies, after_the_failure=lambda writer: None):
        """Numbers of the steps that are in the file, and the errors that were told."""
        with tempfile.TemporaryDirectory() as folder:
            path, errors = os.path.join(folder, "t.jsonl"), []
            with open(path, "xb", buffering=0) as file:
                writer = LiveWriter([file.fileno()], Copied(copies), errors.append)
                self.run_three(writer)
                after_the_failure(writer)
                writer.close()
            with open(path) as file:
                lines = [json.loads(line) for line in file]
            return [line["step"] for line in lines[1:] if "control" not in line], errors

    def run_three(self, writer):
        kv = small_engine.KVCacheManager()
        writer.header(small_engine.kv_cache_config(),
                      small_engine.vllm_config(async_scheduling=True))
        kv.hold("a", [1], [2, 3, 4])
        for step in (1, 2, 3):
            prompt = [small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 9)]
            writer.step(small_engine.scheduler_output({"a": 1}, new=prompt if step == 1 else ()), kv)
            batch = small_engine.input_batch(["a"], [1], [step])
            writer.inputs(batch, num_computed_tokens=Tensor([step]))
            if step < 3:
                writer.forward(small_engine.FORWARD_CONTEXT, batch, {"a": 0})
                writer.launched()
            if step == 2:
                writer.finish(Object(req_ids=["a"], sampled_token_ids=[[20]]))
                writer.launched()

    def test_what_is_known_is_written(self):
        self.assertEqual(self.steps(Copies()), ([1, 2, 3], []))

    def test_a_device_that_has_failed_does_not_reach_the_engine(self):
        copies = Copies()

        def fail(writer):
            writer.drain()
            copies.error = ValueError("the device is gone")
        self.assertEqual(self.steps(copies, fail), ([1], ["the device is gone"]))


if __name__ == "__main__":
    unittest.main()
