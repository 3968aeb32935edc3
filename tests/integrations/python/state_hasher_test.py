"""_native.StateHasher on host memory, without torch."""

import array
import ctypes
import random
import unittest

from naive_hashes import position_sum, temporal_sum

from hybridscope import _native
from hybridscope.errors import Device, InvalidInput, NotAvailable


class Hasher(unittest.TestCase):
    """Four blocks of 64 bytes: a conv state of 3 positions and 4 channels of 2 bytes, then a
    temporal one of 21 bytes."""

    def setUp(self):
        self.memory = ctypes.create_string_buffer(random.Random(7).randbytes(4 * 64), 4 * 64)
        data = ctypes.addressof(self.memory)
        self.conv = {"data": data, "block_stride": 64, "num_positions": 3, "num_channels": 4,
                     "position_stride": 4, "channel_stride": 1, "elem_size": 2, "ordinal": 0}
        self.temporal = {"data": data + 24, "block_stride": 64, "num_bytes": 21, "ordinal": 1}

    def sums(self, views, blocks):
        hasher = _native.StateHasher(views, 4, False)
        ids = array.array("i", blocks)
        sums = array.array("Q", [7] * (len(blocks) * hasher.width))
        hasher.hash(ids.buffer_info()[0], len(ids), sums.buffer_info()[0])
        return [list(sums[at:at + hasher.width]) for at in range(0, len(sums), hasher.width)]

    def expected(self, block, positions_first=True):
        state = self.memory.raw[64 * block:64 * block + 64]
        element = [int.from_bytes(state[at:at + 2], "little") for at in range(0, 24, 2)]
        positions = [[element[4 * p + c] if positions_first else element[3 * c + p]
                      for c in range(4)] for p in range(3)]
        return [temporal_sum(1, state[24:45]), *(position_sum(0, row) for row in positions)]

    def test_blocks_have_the_sums_of_the_definition(self):
        self.assertEqual(self.sums([self.conv, self.temporal], [3, 1]),
                         [self.expected(3), self.expected(1)])

    def test_positions_may_lie_inside_channels(self):
        self.conv.update(position_stride=1, channel_stride=3)
        self.assertEqual(self.sums([self.conv, self.temporal], [2]),
                         [self.expected(2, positions_first=False)])

    def test_what_is_no_block_has_zeros(self):
        self.assertEqual(self.sums([self.temporal], [0, -1, 4]), [[0], [0], [0]])

    def test_a_view_that_cannot_be_is_refused(self):
        with self.assertRaisesRegex(InvalidInput, "state 0: elements of 8 bytes, expected 1, 2 or"):
            _native.StateHasher([{**self.conv, "elem_size": 8}], 4, False)
        with self.assertRaisesRegex(TypeError, "data cannot be 'x'"):
            _native.StateHasher([{"data": "x"}], 4, False)

    def test_host_memory_is_not_hashed_on_a_device(self):
        with self.assertRaises((NotAvailable, Device, InvalidInput)):
            _native.StateHasher([self.temporal], 4, True)


if __name__ == "__main__":
    unittest.main()
