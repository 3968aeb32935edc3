#include "bench/kernels/fused_align_case.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "bench/kernels/gpu_timing.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kBlockSize = 16;
constexpr std::int32_t kColumns = 8;          // of the block table
constexpr std::int32_t kBlocksOfRequest = 4;  // the columns that a copying request's row names

void must_be_ok(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(4);
}

StateTensor conv_tensor(const BenchModel& model, std::int64_t num_blocks) {
  const std::int64_t page = model.page_bytes() / model.conv_elem_size;
  if (model.conv_state_layout == ConvStateLayout::DS)
    return {.shape = {num_blocks, model.conv_dim, model.conv_width},
            .stride = {page, model.conv_width, 1},
            .elem_size = model.conv_elem_size};
  return {.shape = {num_blocks, model.conv_width, model.conv_dim},
          .stride = {page, model.conv_dim, 1},
          .elem_size = model.conv_elem_size};
}

StateLayout layout_of(const BenchModel& model, std::int64_t num_blocks) {
  MambaStateTensors tensors;
  tensors.conv_state_layout = model.conv_state_layout;
  tensors.block_size = kBlockSize;
  tensors.mamba_group_ids = {0};
  tensors.state_kinds = {StateKind::conv, StateKind::temporal};
  const StateTensor temporal{.shape = {num_blocks, model.temporal_elements},
                             .stride = {model.page_bytes() / model.temporal_elem_size, 1},
                             .elem_size = model.temporal_elem_size};
  for (std::int32_t layer = 0; layer < model.num_layers; ++layer)
    tensors.layers.push_back(
        {.group_index = 0, .states = {conv_tensor(model, num_blocks), temporal}});
  const std::vector<std::int64_t> strides{kColumns};
  return make_state_layout(tensors, strides).value();
}

void fill_randomly(const DeviceBuffer<std::byte>& memory) {
  std::vector<std::uint64_t> pattern(std::size_t{1} << 23);
  std::mt19937_64 engine(7);
  for (std::uint64_t& word : pattern) word = engine();
  const std::size_t bytes = pattern.size() * sizeof(pattern[0]);
  for (std::size_t at = 0; at < memory.size(); at += bytes)
    must(cudaMemcpy(memory.data() + at, pattern.data(), std::min(bytes, memory.size() - at),
                    cudaMemcpyHostToDevice),
         "cudaMemcpy");
}

DeviceBuffer<std::int32_t> on_device(const std::vector<std::int32_t>& values) {
  return DeviceBuffer<std::int32_t>::create(std::span<const std::int32_t>(values)).value();
}

// As on_device, the same value everywhere.
DeviceBuffer<std::int32_t> all(std::int32_t value, std::int32_t size) {
  return on_device(std::vector<std::int32_t>(static_cast<std::size_t>(size), value));
}

}  // namespace

std::int64_t BenchBatch::bytes_copied(const BenchModel& model) const {
  return num_copying * model.num_layers *
         ((model.conv_width - accept_token_bias) * model.position_bytes() + model.temporal_bytes());
}

BenchStates::BenchStates(const BenchModel& model, std::int32_t most_copying,
                         const FusedAlignOptions& options)
    : model_(model) {
  const std::int64_t num_blocks = 1 + std::int64_t{kBlocksOfRequest} * most_copying;
  const std::int64_t buffer_bytes = num_blocks * model.page_bytes();
  memory_ =
      DeviceBuffer<std::byte>::create(static_cast<std::size_t>(model.num_layers * buffer_bytes))
          .value();
  fill_randomly(memory_);
  std::vector<std::uintptr_t> addresses;
  for (std::int32_t layer = 0; layer < model.num_layers; ++layer) {
    const auto base = reinterpret_cast<std::uintptr_t>(memory_.data() + layer * buffer_bytes);
    addresses.push_back(base);
    addresses.push_back(base +
                        static_cast<std::uintptr_t>(model.conv_width * model.position_bytes()));
  }
  fused_ = FusedAlign::create(layout_of(model, num_blocks), addresses, options).value();
}

// Requests that copy end at token 16, a boundary; the others at token 4.
BenchArrays::BenchArrays(const BenchBatch& batch) : batch_(batch) {
  const std::int32_t num_reqs = batch.num_reqs;
  const std::int32_t bias = batch.accept_token_bias;
  const std::int32_t src_col = batch.within_block ? 0 : 1;
  std::vector<std::int32_t> table(static_cast<std::size_t>(num_reqs * kColumns), 0);
  std::vector<std::int32_t> computed(static_cast<std::size_t>(num_reqs), 3);
  std::vector<std::int32_t> new_computed(static_cast<std::size_t>(num_reqs), 4 + bias);
  std::vector<std::int32_t> from(static_cast<std::size_t>(num_reqs), 0);
  for (std::int32_t i = 0; i < batch.num_copying; ++i) {
    const auto row = static_cast<std::size_t>(i * (num_reqs / batch.num_copying));
    std::iota(table.begin() + static_cast<std::ptrdiff_t>(row * kColumns),
              table.begin() + static_cast<std::ptrdiff_t>(row * kColumns + kBlocksOfRequest),
              1 + i * kBlocksOfRequest);
    computed[row] = kBlockSize - 1 - bias;
    new_computed[row] = kBlockSize;
    from[row] = 1;
  }
  std::vector<std::int32_t> identity(static_cast<std::size_t>(num_reqs));
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<std::int32_t> query_start_loc(static_cast<std::size_t>(num_reqs) + 1);
  std::iota(query_start_loc.begin(), query_start_loc.end(), 0);
  block_table_ = on_device(table);
  accepted_ = all(1 + bias, num_reqs);
  column_ = all(src_col, num_reqs);
  scheduled_ = all(1 + bias, num_reqs);
  drafts_ = all(bias, num_reqs);
  computed_ = on_device(computed);
  out_ = all(0, num_reqs);
  idx_mapping_ = on_device(identity);
  new_computed_ = on_device(new_computed);
  query_start_loc_ = on_device(query_start_loc);
  state_idx_ = on_device(from);
  counts_ = all(1 + bias, num_reqs);
  advanced_col_ = all(0, num_reqs);
  advanced_off_ = all(0, num_reqs);
  src_col_ = on_device(from);
  src_off_ = all(bias, num_reqs);
  new_state_idx_ = all(0, num_reqs);
}

void BenchArrays::postprocess(const FusedAlign& fused, CudaStream stream) const {
  const std::int32_t* tables[] = {block_table_.data()};
  must_be_ok(fused.postprocess({.num_reqs = batch_.num_reqs,
                                .num_accepted_tokens = accepted_.data(),
                                .mamba_state_idx = column_.data(),
                                .num_scheduled_tokens = scheduled_.data(),
                                .num_computed_tokens = computed_.data(),
                                .num_draft_tokens = drafts_.data(),
                                .block_tables = tables,
                                .num_accepted_tokens_out = out_.data()},
                               stream));
}

void BenchArrays::postprocess_align(const FusedAlign& fused, CudaStream stream) const {
  const std::int32_t* tables[] = {block_table_.data()};
  must_be_ok(fused.postprocess_align({.num_reqs = batch_.num_reqs,
                                      .num_slots = batch_.num_reqs,
                                      .idx_mapping = idx_mapping_.data(),
                                      .num_accepted_tokens = accepted_.data(),
                                      .state_idx = column_.data(),
                                      .new_num_computed_tokens = new_computed_.data(),
                                      .block_tables = tables,
                                      .num_accepted_tokens_out = out_.data()},
                                     stream));
}

void BenchArrays::advance(CudaStream stream) const {
  must_be_ok(launch_align_advance({.num_reqs = batch_.num_reqs,
                                   .block_size = kBlockSize,
                                   .idx_mapping = idx_mapping_.data(),
                                   .num_computed_tokens = computed_.data(),
                                   .query_start_loc = query_start_loc_.data(),
                                   .state_idx = state_idx_.data(),
                                   .num_accepted_tokens = counts_.data(),
                                   .src_col = advanced_col_.data(),
                                   .src_off = advanced_off_.data()},
                                  stream));
}

void BenchArrays::precopy(const FusedAlign& fused, CudaStream stream) const {
  const std::int32_t* tables[] = {block_table_.data()};
  must_be_ok(fused.precopy({.num_reqs = batch_.num_reqs,
                            .idx_mapping = idx_mapping_.data(),
                            .state_idx = new_state_idx_.data(),
                            .src_col = src_col_.data(),
                            .src_off = src_off_.data(),
                            .block_tables = tables},
                           stream));
}

}  // namespace hybridscope
