"""Tensors of a device that come to the host behind the engine's work; skipped without torch and a
device."""

import unittest
from types import SimpleNamespace as Object

try:
    import torch
    from hybridscope import _native
    from hybridscope.vllm import device_copies
    HAS_DEVICE = torch.cuda.is_available()
except ImportError:
    HAS_DEVICE = False


@unittest.skipUnless(HAS_DEVICE, "no torch or no CUDA device")
class OnADevice(unittest.TestCase):
    def copies(self):
        """With our kernel, and with torch."""
        yield device_copies.DeviceCopies()
        yield device_copies.DeviceCopies(lambda device: device_copies.TorchCopies())

    def test_the_kernel_is_ours_where_the_package_has_it(self):
        device = torch.device("cuda", torch.cuda.current_device())
        self.assertIsInstance(device_copies.copies_of(device), _native.ArrayCopies)

    def tensors(self):
        numbers = torch.arange(600, device="cuda", dtype=torch.int32).reshape(20, 30)
        return [numbers, numbers[:7], numbers[3], numbers[:, 4], numbers[2:9, 5:8], numbers.long(),
                numbers[0] > 4, numbers.double() / 7, numbers[:0], numbers[4, 5],
                numbers.to(torch.uint8)[0, 1:4], numbers.to(torch.int8)[1]]

    def test_tensors_of_any_shape_and_type_come_as_they_are(self):
        for copies in self.copies():
            tensors = self.tensors()
            taken = copies.snapshot({"a": tensors, "again": tensors[0]})
            copies.launch()
            told = [tensor.tolist() for tensor in tensors]
            self.assertEqual(taken.tolist(), {"a": told, "again": told[0]})
            self.assertEqual(_native.record_text({"x": taken, "y": 1}),
                             _native.record_text({"x": {"a": told, "again": told[0]}, "y": 1}))

    def test_a_part_that_is_one_tensor_is_an_array(self):
        for copies in self.copies():
            tensors = self.tensors()
            taken = [copies.snapshot(tensor) for tensor in tensors]
            copies.launch()
            for tensor, part in zip(tensors, taken):
                host = part.host_array()
                self.assertEqual((host.tolist(), host.shape),
                                 (tensor.tolist(), tuple(tensor.shape)))

    def test_fields_have_tensors_and_the_shape_of_empty_matrices(self):
        for copies in self.copies():
            fields = {"blocks": torch.tensor([[1, 2]], device="cuda"), "on_host": torch.tensor([3]),
                      "none": torch.zeros((0, 4), device="cuda", dtype=torch.int32),
                      "half": torch.zeros(2, device="cuda", dtype=torch.float16)}
            taken = copies.fields(fields, {})
            copies.launch()
            self.assertEqual(taken.tolist(), {"blocks": [[1, 2]], "on_host": [3],
                                              "none": {"shape": [0, 4], "data": []}})

    def test_an_array_that_was_not_launched_is_an_error(self):
        taken = device_copies.DeviceCopies().snapshot(torch.zeros(3, device="cuda"))
        with self.assertRaisesRegex(RuntimeError, "an array of the device was not launched"):
            taken.tolist()

    def test_tensors_that_nobody_keeps_are_not_taken_for_later_ones(self):
        for copies in self.copies():
            taken = [copies.snapshot(torch.full((300, 2), step, device="cuda")[:, 1])
                     for step in range(20)]
            copies.launch()
            self.assertEqual([array.tolist() for array in taken],
                             [[step] * 300 for step in range(20)])

    def test_a_change_after_launch_is_not_seen(self):
        for copies in self.copies():
            tensor = torch.arange(1000, device="cuda")
            taken = copies.snapshot(tensor)
            copies.launch()
            tensor.zero_()
            self.assertEqual(taken.tolist(), list(range(1000)))

    def test_each_launch_has_memory_of_its_own_while_its_arrays_are_there(self):
        for copies in self.copies():
            taken = []
            for step in range(20):
                taken.append(copies.snapshot(torch.full((300,), step, device="cuda")))
                copies.launch()
            self.assertEqual([array.tolist() for array in taken],
                             [[step] * 300 for step in range(20)])

    def test_rows_are_those_of_the_batch(self):
        for copies in self.copies():
            slots = torch.tensor([2, 0], device="cuda")
            batch = Object(idx_mapping=slots, idx_mapping_np=slots.cpu().numpy())
            taken = copies.rows(torch.tensor([5, 6, 7], device="cuda"), batch)
            copies.launch()
            self.assertEqual(taken.tolist(), [7, 5])
