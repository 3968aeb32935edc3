// Policies on the inputs of layers and on how their kernels run: GDN's gathers, conv windows, rows
// that kernels skip, padding. Part of the policies of core/engine/policies.h.
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"
#include "core/model/conv_state_layout.h"
#include "core/model/prefill_checkpoint.h"

namespace hybridscope {

// Is the token order of a mixed GDN batch a stable partition? (known bug 37)
enum class GdnTokenPartition : std::uint8_t {
  stable,
  unstable,  // the first two tokens of the first row of several are swapped
};

// Are the gates of a mixed GDN batch gathered like the tokens? (known bug 15)
enum class GdnGates : std::uint8_t { gathered, in_batch_order };

// By how much does a verify row shift its conv window? (known bug 47)
enum class ConvRoll : std::uint8_t {
  row_length,
  window_length,  // as if it had 1 + K tokens
};

// Mode all: which conv windows at block boundaries does a prompt row store? (known bug 58)
enum class ConvBoundaries : std::uint8_t {
  by_position,
  by_piece,  // boundary j with piece j + 1 of 8 tokens, if the row has one; tokens missing in front
             // are those of the row in front
};

// How far apart are the gates of a verify row's tokens in KDA kernels? (known bug 59)
enum class KdaGateStride : std::uint8_t {
  heads_and_channels,
  heads,  // as if there were one gate a head
};

// Which rows do state kernels skip? (known bug 35)
enum class NullRows : std::uint8_t {
  skipped,  // those of the null block, and those of the pad id
  run,      // those of the pad id only
};

// In which order are the positions of a conv window moved within one block? (known bug 4)
enum class SameBlockShift : std::uint8_t {
  memmove,
  last_position_first,  // the worst order of lanes that do not wait for each other
};

// What is is_prefilling of padding rows? (known bug 34)
enum class PaddingPrefilling : std::uint8_t {
  cleared,
  left_over,  // the value of the row in earlier steps
};

// Mode all: which arrays does a group that reuses another's metadata refresh? (known bug 40)
enum class ReusedMetadata : std::uint8_t {
  every_array,
  state_indices_only,
};

// Data parallel: which block tables does a dummy run use? Left-over rows belong to no request any
// more, but the blocks that they name may belong to another request by now. (known bug 14)
enum class DummyRunTables : std::uint8_t {
  zeroed,     // every row is a null row
  left_over,  // V1: the host's rows; V2: the rows that were gathered last
};

// Which states inside a prefill does the worker store? One that the scheduler did not ask for can
// go to a block that has moved to another column since (semantics: checkpoint-metadata).
enum class CheckpointWrites : std::uint8_t {
  reserved,           // those that the scheduler made room for
  every_valid_chunk,  // 0.32.0: of each chunk that can
};

struct KernelPolicies {
  GdnTokenPartition gdn_token_partition = GdnTokenPartition::stable;
  GdnGates gdn_gates = GdnGates::gathered;
  ConvRoll conv_roll = ConvRoll::row_length;
  ConvBoundaries conv_boundaries = ConvBoundaries::by_position;
  KdaGateStride kda_gate_stride = KdaGateStride::heads_and_channels;
  NullRows null_rows = NullRows::skipped;
  SameBlockShift same_block_shift = SameBlockShift::memmove;
  PaddingPrefilling padding_prefilling = PaddingPrefilling::cleared;
  ReusedMetadata reused_metadata = ReusedMetadata::every_array;
  DummyRunTables dummy_run_tables = DummyRunTables::zeroed;
  ConvStateSizing conv_state_sizing = ConvStateSizing::kernel_plus_spec;
  CheckpointLayers checkpoint_layers = CheckpointLayers::none;
  CheckpointWrites checkpoint_writes = CheckpointWrites::reserved;
  friend bool operator==(const KernelPolicies&, const KernelPolicies&) = default;
};

// Calls visit(PolicyRow) for each of them.
template <class Visit>
constexpr void for_each_kernel_policy(Visit visit) {
  visit(PolicyRow(&KernelPolicies::gdn_token_partition,
                  {.name = "gdn_token_partition",
                   .values = {"stable", "unstable"},
                   .help = "token order of a mixed GDN batch"}));
  visit(PolicyRow(&KernelPolicies::gdn_gates,
                  {.name = "gdn_gates",
                   .values = {"gathered", "in_batch_order"},
                   .help = "whether GDN's gates are gathered like its tokens",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::conv_roll,
                  {.name = "conv_roll",
                   .values = {"row_length", "window_length"},
                   .help = "by how much a verify row shifts its conv window",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::conv_boundaries,
                  {.name = "conv_boundaries",
                   .values = {"by_position", "by_piece"},
                   .help = "mode all: which conv windows at block boundaries are stored",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::kda_gate_stride,
                  {.name = "kda_gate_stride",
                   .values = {"heads_and_channels", "heads"},
                   .help = "stride of the gates of a verify row's tokens in KDA kernels",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::null_rows,
                  {.name = "null_rows",
                   .values = {"skipped", "run"},
                   .help = "whether state kernels skip rows of the null block",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::same_block_shift,
                  {.name = "same_block_shift",
                   .values = {"memmove", "last_position_first"},
                   .help = "order in which a conv window moves within its block",
                   .symbolic_state_only = true}));
  visit(PolicyRow(&KernelPolicies::padding_prefilling, {.name = "padding_prefilling",
                                                        .values = {"cleared", "left_over"},
                                                        .help = "is_prefilling of padding rows"}));
  visit(PolicyRow(
      &KernelPolicies::reused_metadata,
      {.name = "reused_metadata",
       .values = {"every_array", "state_indices_only"},
       .help = "which arrays a group refreshes when it reuses another group's metadata"}));
  visit(PolicyRow(&KernelPolicies::dummy_run_tables,
                  {.name = "dummy_run_tables",
                   .values = {"zeroed", "left_over"},
                   .help = "data parallel: block tables of dummy runs"}));
  visit(PolicyRow(&KernelPolicies::conv_state_sizing,
                  {.name = "conv_state_sizing",
                   .values = {"kernel_plus_spec", "as_reference", "by_state_shape"},
                   .help = "whether conv windows have room for drafts in every model"},
                  ConvStateSizing::as_reference));
  visit(PolicyRow(
      &KernelPolicies::checkpoint_layers,
      {.name = "checkpoint_layers",
       .values = {"none", "mamba2", "mamba2_and_gdn"},
       .help = "mode align: which layers have kernels that store a state inside a prefill"}));
  visit(PolicyRow(&KernelPolicies::checkpoint_writes,
                  {.name = "checkpoint_writes",
                   .values = {"reserved", "every_valid_chunk"},
                   .help = "which states inside a prefill the worker stores"}));
}

}  // namespace hybridscope
