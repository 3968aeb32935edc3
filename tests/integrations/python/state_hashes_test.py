"""StateHashes on tensors of the host; needs torch."""

import json
import unittest
from types import SimpleNamespace as Object

from naive_hashes import position_sum, temporal_sum, told

try:
    import torch
except ImportError:
    torch = None

from hybridscope import _native
from hybridscope.hybridscope_trace import line_of
from hybridscope.vllm.state_views import views_of

if torch is not None:
    from hybridscope.vllm.device_copies import DeviceCopies
    from hybridscope.vllm.state_hashes import StateHashes, _Hasher, hashes_of
    from hybridscope.vllm.torch_sums import torch_sums

needs_torch = unittest.skipIf(torch is None, "torch is not installed")

NUM_BLOCKS = 7


def states_of_layer(*shapes_and_types, padding=8):
    """Tensors [NUM_BLOCKS, ...] that share a page for each block, as vLLM lays them out."""
    sizes = [torch.Size(shape).numel() * dtype.itemsize for shape, dtype in shapes_and_types]
    page = -(-(sum(sizes) + padding) // 8) * 8
    raw = torch.randint(0, 256, (NUM_BLOCKS, page), dtype=torch.uint8)
    states, offset = [], 0
    for (shape, dtype), size in zip(shapes_and_types, sizes):
        states.append(raw[:, offset:offset + size].view(dtype).view(NUM_BLOCKS, *shape))
        offset += size
    return tuple(states)


def layer(conv=(5, 6), conv_type=None, temporal=(3, 4), temporal_type=None):
    return states_of_layer((conv, conv_type or torch.bfloat16),
                           (temporal, temporal_type or torch.float32))


def unsigned(tensor):
    """Its elements as the numbers that their bytes are, in its own shape."""
    size = tensor.element_size()
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]
    return (tensor.contiguous().view(kind).long() & (256 ** size - 1)).tolist()


def data_of(tensor):
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


def group(kind="gdn_attention", layers=("a",), block_size=8, drafts=2):
    class MambaSpec(Object):
        pass
    return Object(layer_names=list(layers), kv_cache_spec=MambaSpec(
        mamba_type=kind, block_size=block_size, num_speculative_blocks=drafts))


@needs_torch
class Sums(unittest.TestCase):
    """The processor, torch and the definition agree."""

    def setUp(self):
        torch.manual_seed(7)

    def check(self, kind, layers, positions, expected_of_block):
        views = views_of(kind, layers, positions)
        blocks = torch.tensor([3, 0, 6, -1, NUM_BLOCKS, 3], dtype=torch.int32)
        native = _Hasher(views, NUM_BLOCKS).sums(blocks)
        self.assertTrue(torch.equal(native, torch_sums(views, blocks, NUM_BLOCKS)))
        nothing = [0] * native.shape[1]
        expected = [expected_of_block(block) if 0 < block < NUM_BLOCKS else nothing
                    for block in blocks.tolist()]
        self.assertEqual([[number & (1 << 64) - 1 for number in row] for row in native.tolist()],
                         expected)

    def test_positions_of_a_window_that_lies_position_by_position(self):
        for conv_type in (torch.bfloat16, torch.float32, torch.uint8):
            first, second = (layer(conv=(5, 8), conv_type=conv_type) for _ in range(2))
            self.check("gdn_attention", [first, second], 5, lambda block: [
                (temporal_sum(1, data_of(first[1][block]))
                 + temporal_sum(3, data_of(second[1][block]))) & (1 << 64) - 1,
                *((position_sum(0, unsigned(first[0][block])[p])
                   + position_sum(2, unsigned(second[0][block])[p])) & (1 << 64) - 1
                  for p in range(5))])

    def test_positions_of_a_window_that_lies_channel_by_channel(self):
        conv, temporal = layer(conv=(6, 5))
        self.check("mamba2", [(conv, temporal)], 5, lambda block: [
            temporal_sum(1, data_of(temporal[block])),
            *(position_sum(0, [row[p] for row in unsigned(conv[block])]) for p in range(5))])

    def test_a_window_of_another_width_is_one_position(self):
        for positions in (None, 4):
            conv, temporal = layer(temporal_type=torch.bfloat16, temporal=(3, 7))
            self.check("mamba2", [(conv, temporal)], positions, lambda block: [
                temporal_sum(1, data_of(temporal[block])),
                position_sum(0, sum(unsigned(conv[block]), []))])

    def test_each_kind_of_layer_has_its_states(self):
        conv, temporal = layer()
        for kind, states, kinds in (("mamba2", (conv, temporal, temporal), [5, 0]),
                                    ("short_conv", (conv, conv), [5, 5]),
                                    ("linear_attention", (temporal,), [0]),
                                    ("kda", (conv, conv, conv, temporal), [5, 5, 5, 0])):
            views = views_of(kind, [states], 5)
            self.assertEqual([view.num_positions for view in views], kinds, kind)
            self.assertEqual([view.ordinal for view in views], list(range(len(kinds))))
        with self.assertRaisesRegex(ValueError, "states of abacus layers are not hashed"):
            views_of("abacus", [(conv,)], 5)
        with self.assertRaisesRegex(ValueError, "state 0 of linear_attention layers is not contig"):
            views_of("linear_attention", [(temporal.transpose(1, 2),)], 5)


@needs_torch
class Steps(unittest.TestCase):
    def read(self, record):
        """As a trace has it, of either writer."""
        text = _native.record_text(record).decode()
        self.assertEqual(json.loads(text), json.loads(line_of(record)))
        return json.loads(text)

    def setUp(self):
        torch.manual_seed(8)
        self.conv, self.temporal = layer()

    def hashes(self, positions=5, num_more=0, **options):
        return StateHashes([Object(kv_cache_spec=Object(), layer_names=["b"]), group(**options)],
                           {"a": (self.conv, self.temporal)}.get, conv_positions=positions,
                           num_blocks=NUM_BLOCKS, num_more=num_more, max_tokens=16,
                           snapshot=DeviceCopies().snapshot)

    def blocks_of(self, hashes, **metadata):
        hashes.before_forward({"a": Object(**metadata)})
        return self.read(hashes.after_forward()["1"])["block_ids"]

    def test_hashes_before_and_after_the_forward_pass(self):
        hashes = self.hashes()
        self.assertEqual(hashes.how, "the processor")
        indices = torch.tensor([[4, 2, 0]], dtype=torch.int32)
        before = [told(temporal_sum(1, data_of(self.temporal[block]))) for block in (2, 4)]
        hashes.before_forward({"a": Object(spec_state_indices_tensor=indices)})
        self.temporal[4, 0, 0] += 1
        record = self.read(hashes.after_forward())
        self.assertEqual(list(record), ["1"])
        self.assertEqual(list(record["1"]), ["block_ids", "before_forward", "after_forward"])
        self.assertEqual(record["1"]["block_ids"], [2, 4])
        first, then = record["1"]["before_forward"], record["1"]["after_forward"]
        self.assertEqual(first["temporal"], before)
        self.assertEqual(then["temporal"],
                         [before[0], told(temporal_sum(1, data_of(self.temporal[4])))])
        self.assertEqual(first["conv"], then["conv"])
        self.assertEqual(first["conv"][0], [told(position_sum(0, unsigned(self.conv[2])[p]))
                                            for p in range(5)])
        self.assertIsNone(hashes.after_forward())

    def test_a_kind_of_state_that_there_is_not_is_left_out(self):
        self.conv, self.temporal = self.temporal, self.conv
        hashes = StateHashes([group("linear_attention")], {"a": (self.conv,)}.get,
                             conv_positions=None, num_blocks=NUM_BLOCKS, num_more=1, max_tokens=16,
                             snapshot=DeviceCopies().snapshot)
        hashes.before_forward({"a": Object(state_indices_tensor=None)})
        record = self.read(hashes.after_forward())["0"]
        self.assertEqual(list(record["before_forward"]), ["temporal"])

    def test_the_blocks_of_the_steps_before_are_looked_at_again_and_none_twice(self):
        """Of as many as a row's drafts may stay behind the end of a block, and one more."""
        hashes = self.hashes(drafts=1)
        self.assertEqual(self.blocks_of(hashes, state_indices_tensor_d=torch.tensor([[1], [2]])),
                         [1, 2])
        self.assertEqual(self.blocks_of(hashes, state_indices_tensor_d=torch.tensor([[1], [3]]),
                                        state_indices_tensor_p=None, num_accepted=torch.tensor([6])),
                         [1, 2, 3])
        self.assertEqual(self.blocks_of(hashes), [1, 2, 3])
        self.assertEqual(self.blocks_of(hashes), [1, 3])
        self.assertEqual(self.blocks_of(hashes), [])

    def test_states_inside_a_prefill_are_looked_at(self):
        self.assertEqual(self.blocks_of(
            self.hashes(), state_indices_tensor_p=torch.tensor([5]),
            checkpoint_meta=Object(state_indices=torch.tensor([6]), block_cols=torch.tensor([1])),
            checkpoint=None, checkpoint_chunk_idx=torch.tensor([3])), [5, 6])

    def test_blocks_of_the_pool_come_in_turn(self):
        hashes = self.hashes(num_more=4)
        self.assertEqual([self.blocks_of(hashes) for _ in range(3)],
                         [[1, 2, 3, 4], [1, 2, 5, 6], [3, 4, 5, 6]])
        self.assertEqual(self.blocks_of(self.hashes(num_more=99)), [1, 2, 3, 4, 5, 6])

    def test_of_whole_block_tables_the_columns_that_a_step_may_touch(self):
        """Mode all: two decode rows with two drafts, a prefill of up to 16 tokens."""
        metadata = {
            "num_decodes": 2,
            "block_idx_last_computed_token": torch.tensor([1, 0, 0]),
            "block_idx_last_scheduled_token": torch.tensor([1, 0, 1]),
            "state_indices_tensor_d": torch.tensor([[9, 1, 2, 3, 9], [4, 5, 6, 9, 9]]),
            "state_indices_tensor_p": torch.tensor([[11, 12, 13, 14, 9]])}
        self.assertEqual(self.blocks_of(self.hashes(), **metadata),
                         [1, 2, 3, 4, 5, 6, 11, 12, 13, 14])

    def test_a_model_without_recurrent_layers_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no recurrent layers"):
            StateHashes([Object(kv_cache_spec=Object(), layer_names=["b"])], {}.get,
                        conv_positions=None, num_blocks=4, num_more=0, max_tokens=8,
                        snapshot=DeviceCopies().snapshot)

    def test_the_facts_come_from_the_runner(self):
        layers = {"a": Object(kv_cache=[self.conv, self.temporal])}
        config = Object(compilation_config=Object(static_forward_context=layers),
                        model_config=Object(hf_text_config=Object(linear_conv_kernel_dim=4)),
                        speculative_config=Object(num_speculative_tokens=2),
                        scheduler_config=Object(max_num_batched_tokens=16))
        cache = Object(kv_cache_groups=[group()], num_blocks=NUM_BLOCKS)
        for drafts, width in ((Object(num_speculative_tokens=2), 5), (None, 1)):
            config.speculative_config = drafts
            hashes = hashes_of(Object(vllm_config=config, kv_cache_config=cache), 1,
                               DeviceCopies().snapshot)
            hashes.before_forward({"a": Object()})
            record = self.read(hashes.after_forward())["0"]
            self.assertEqual(len(record["after_forward"]["conv"][0]), width)


if __name__ == "__main__":
    unittest.main()
