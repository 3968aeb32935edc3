#include "tests/kernels/cuda/fused_case.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/math.h"
#include "core/state/state_copy.h"
#include "kernels/cpu/state_copy_cpu.h"

namespace hybridscope::test {
namespace {

void expect_ok(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

StateTensor draw_conv(Draw& draw, const RandomStatesOptions& options, ConvStateLayout layout,
                      std::int32_t elem_size) {
  const std::int64_t width = draw(2, 8);
  const std::int64_t dim =
      options.large ? 8 * draw(600, 1500) : (draw.one_in(2) ? 8 * draw(1, 12) : draw(1, 90));
  StateTensor tensor{
      .shape = {options.num_blocks, width, dim}, .stride = {0, dim, 1}, .elem_size = elem_size};
  if (layout == ConvStateLayout::DS) {
    const std::int64_t row = width + (draw.one_in(4) ? 1 : 0);
    tensor.shape = {options.num_blocks, dim, width};
    tensor.stride = {0, row, 1};
  }
  return tensor;
}

StateTensor draw_temporal(Draw& draw, const RandomStatesOptions& options, std::int32_t elem_size) {
  const std::int64_t heads = draw(1, 4);
  const std::int64_t dim =
      options.large ? 8 * draw(500, 2500) : (draw.one_in(2) ? 8 * draw(1, 40) : draw(1, 300));
  return {.shape = {options.num_blocks, heads, dim}, .stride = {0, dim, 1}, .elem_size = elem_size};
}

std::int64_t bytes_of_block(const StateTensor& tensor) {
  return tensor.shape[1] * tensor.stride[1] * tensor.elem_size;
}

}  // namespace

RandomStates draw_states(Draw& draw, const RandomStatesOptions& options) {
  RandomStates states;
  MambaStateTensors& tensors = states.tensors;
  tensors.conv_state_layout = draw.one_in(3) ? ConvStateLayout::DS : ConvStateLayout::SD;
  tensors.block_size = draw(2, 9);
  tensors.state_kinds = {StateKind::conv, StateKind::temporal};
  if (draw.one_in(4)) tensors.state_kinds.insert(tensors.state_kinds.begin(), StateKind::conv);
  const std::int32_t num_groups = draw(1, 3);
  const bool alike = draw.one_in(2);  // all layers of one shape: stripes
  MambaLayerStates layer;
  std::int64_t size = 0;
  for (std::int32_t group = 0; group < num_groups; ++group) {
    tensors.mamba_group_ids.push_back(group + 1);
    for (std::int32_t i = draw(1, options.large ? 1 : 3); i > 0; --i) {
      if (!alike || layer.states.empty()) {
        layer.states.clear();
        for (const auto& kind : tensors.state_kinds) {
          const std::int32_t elem_size = draw.one_in(3) ? 4 : 2;
          layer.states.push_back(
              *kind == StateKind::conv
                  ? draw_conv(draw, options, tensors.conv_state_layout, elem_size)
                  : draw_temporal(draw, options, elem_size));
        }
      }
      layer.group_index = group;
      const std::int64_t granule = draw.one_in(3) ? 4 : 512;
      std::int64_t page = 0;
      std::vector<std::int64_t> offsets;
      for (const StateTensor& state : layer.states) {
        offsets.push_back(page);
        page += round_up(bytes_of_block(state), std::int64_t{16} < granule ? std::int64_t{16} : 4);
      }
      page = round_up(page + draw(0, 40), granule);
      for (std::size_t s = 0; s < offsets.size(); ++s) {
        layer.states[s].stride[0] = page / layer.states[s].elem_size;
        states.state_offsets.push_back(size + offsets[s]);
      }
      tensors.layers.push_back(layer);
      size = round_up(size + page * options.num_blocks, std::int64_t{512});
    }
  }
  const std::vector<std::int64_t> strides(tensors.mamba_group_ids.size(), options.table_columns);
  states.layout = make_state_layout(tensors, strides).value();
  states.bytes.resize(static_cast<std::size_t>(size));
  for (std::byte& byte : states.bytes) byte = static_cast<std::byte>(draw(0, 255));
  return states;
}

void RandomStates::execute(const std::vector<StateCopy>& copies) {
  for (const StateCopy& copy : copies)
    execute_copy(copy, std::span(bytes).subspan(static_cast<std::size_t>(
                           state_offsets[static_cast<std::size_t>(copy.state_index)])));
}

std::vector<StateCopy> RandomStates::plan(std::span<const StateCopyDecision> decisions,
                                          std::span<const TensorView<std::int32_t>> tables) const {
  std::vector<MambaBlockTable> of_groups;
  for (std::size_t i = 0; i < tables.size(); ++i)
    of_groups.push_back(
        {.group = layout.mamba_group_ids[i], .ids = tables[i], .num_blocks_per_row = {}});
  std::vector<StateCopyTrace> launched;
  collect_batch_copy_meta(decisions, of_groups, launched);
  std::vector<StateCopy> copies;
  for (const StateCopyTrace& copy : launched) {
    for (const std::int32_t block : {copy.conv_src_block, copy.temporal_src_block, copy.dst_block})
      if (block < 0 || block >= layout.state_num_blocks.front())
        throw std::runtime_error("block " + std::to_string(block) + " is outside the states");
    const auto group = std::ranges::find(layout.mamba_group_ids, copy.group);
    for_each_copy_of_state(
        layout,
        {.group_index = static_cast<std::int32_t>(group - layout.mamba_group_ids.begin()),
         .conv_src_block = copy.conv_src_block,
         .temporal_src_block = copy.temporal_src_block,
         .dst_block = copy.dst_block,
         .accept_token_bias = copy.accept_token_bias},
        [&](const CopyOfState& made) {
          if (made.copy.row_bytes > 0) copies.push_back(made.copy);
        });
  }
  return copies;
}

std::vector<TensorView<std::int32_t>> RandomTables::views() const {
  std::vector<TensorView<std::int32_t>> views;
  for (const auto& group : groups) views.push_back(matrix_view(group.data(), rows, columns));
  return views;
}

RandomTables draw_tables(Draw& draw, std::int32_t num_groups, std::int32_t rows,
                         std::int32_t columns) {
  RandomTables tables{.rows = rows, .columns = columns, .groups = {}};
  for (std::int32_t group = 0; group < num_groups; ++group) {
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(rows * columns));
    std::iota(blocks.begin(), blocks.end(), 1);
    for (std::size_t i = blocks.size(); i > 1; --i)
      std::swap(blocks[i - 1],
                blocks[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(i) - 1))]);
    tables.groups.push_back(std::move(blocks));
  }
  return tables;
}

DeviceStates::DeviceStates(const RandomStates& states, const RandomTables& tables) {
  memory_ = DeviceBuffer<std::byte>::create(std::span<const std::byte>(states.bytes)).value();
  for (const auto& group : tables.groups) tables_.push_back(on_device(group));
  for (const auto& table : tables_) tables_of_groups_.push_back(table.data());
}

std::vector<std::uintptr_t> DeviceStates::state_base_addrs(const RandomStates& states) const {
  std::vector<std::uintptr_t> addresses;
  for (const std::int64_t offset : states.state_offsets)
    addresses.push_back(reinterpret_cast<std::uintptr_t>(memory_.data() + offset));
  return addresses;
}

std::vector<std::byte> DeviceStates::bytes() const {
  std::vector<std::byte> bytes(memory_.size());
  expect_ok(
      cuda_status(cudaMemcpy(bytes.data(), memory_.data(), bytes.size(), cudaMemcpyDeviceToHost),
                  std::string("download")));
  return bytes;
}

DeviceBuffer<std::int32_t> on_device(const std::vector<std::int32_t>& values) {
  return DeviceBuffer<std::int32_t>::create(std::span<const std::int32_t>(values)).value();
}

std::vector<std::int32_t> on_host(const DeviceBuffer<std::int32_t>& values) {
  std::vector<std::int32_t> result(values.size());
  expect_ok(cuda_status(
      cudaMemcpy(result.data(), values.data(), values.size() * 4, cudaMemcpyDeviceToHost),
      "download"));
  return result;
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return cudaGetErrorString(code);
  return count == 0 ? "no CUDA device" : "";
}

}  // namespace hybridscope::test
