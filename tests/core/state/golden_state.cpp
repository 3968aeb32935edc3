#include "tests/core/state/golden_state.h"

#include <zlib.h>

#include <algorithm>

namespace hybridscope::test {
namespace {

StateTensor state_tensor(const Json& state) {
  return {.shape = state.at("shape").get<std::vector<std::int64_t>>(),
          .stride = state.at("stride").get<std::vector<std::int64_t>>(),
          .elem_size = state.at("elem_size").get<std::int32_t>()};
}

// "conv2d" loses a conv state's last dimension, "func" has a copy function nobody knows; the other
// faults show in the inputs.
void inject_fault(const Json& fault, MambaStateTensors& tensors) {
  if (fault == "func") tensors.state_kinds.front() = std::nullopt;
  if (fault != "conv2d") return;
  for (std::size_t i = 0; i < tensors.state_kinds.size(); ++i) {
    if (tensors.state_kinds[i] != StateKind::conv) continue;
    tensors.layers.back().states[i].shape.resize(2);
    tensors.layers.back().states[i].stride.resize(2);
  }
}

}  // namespace

MambaStateTensors state_tensors(const Json& config) {
  MambaStateTensors tensors;
  tensors.conv_state_layout =
      config.at("layout") == "DS" ? ConvStateLayout::DS : ConvStateLayout::SD;
  tensors.block_size = config.at("block_size").get<std::int32_t>();
  for (const Json& group : config.at("mamba_groups"))
    tensors.mamba_group_ids.push_back(group.at(0).get<std::int32_t>());
  for (const Json& kind : config.at("memory").at("state_kinds"))
    tensors.state_kinds.push_back(kind == "conv" ? StateKind::conv : StateKind::temporal);
  for (const Json& layer : config.at("memory").at("layers")) {
    MambaLayerStates states;
    const auto group =
        std::ranges::find(tensors.mamba_group_ids, layer.at("group_id").get<std::int32_t>());
    states.group_index = static_cast<std::int32_t>(group - tensors.mamba_group_ids.begin());
    for (const Json& state : layer.at("states")) states.states.push_back(state_tensor(state));
    tensors.layers.push_back(states);
  }
  if (config.contains("fault")) inject_fault(config.at("fault"), tensors);
  return tensors;
}

Json layout_json(const StateLayout& layout) {
  return {{"state_block_strides", layout.state_block_strides},
          {"state_elem_sizes", layout.state_elem_sizes},
          {"state_inner_sizes", layout.state_inner_sizes},
          {"state_conv_widths", layout.state_conv_widths},
          {"state_group_indices", layout.state_group_indices},
          {"state_dim_row_count", layout.state_dim_row_count},
          {"state_dim_row_stride", layout.state_dim_row_stride},
          {"block_table_stride_req", layout.block_table_stride_req},
          {"num_layers", layout.num_layers},
          {"num_state_types", layout.num_state_types},
          {"block_size", layout.block_size}};
}

std::vector<std::int32_t> ints(const Json& array) { return array.get<std::vector<std::int32_t>>(); }

GoldenBlockTables::GoldenBlockTables(const Json& block_tables) {
  for (const Json& table : block_tables) {
    data.emplace_back();
    for (const Json& row : table)
      for (const Json& block : row) data.back().push_back(block.get<std::int32_t>());
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto rows = static_cast<std::int32_t>(block_tables[i].size());
    const auto cols = rows == 0 ? 0 : static_cast<std::int32_t>(block_tables[i][0].size());
    views.push_back(matrix_view(data[i].data(), rows, cols));
  }
}

Json copies_json(std::span<const RowStateCopy> copies) {
  Json json = Json::array();
  for (const auto& [row, copy] : copies)
    json.push_back({row, copy.state_index, copy.src_byte_offset, copy.dst_byte_offset,
                    copy.row_bytes, copy.num_rows, copy.row_stride_bytes});
  return json;
}

RequestId RequestNames::id(const std::string& name) {
  const auto [entry, added] =
      ids_.try_emplace(name, RequestId{static_cast<std::int32_t>(names_.size())});
  if (added) names_.push_back(name);
  return entry->second;
}

std::vector<RequestId> RequestNames::ids(const Json& names) {
  std::vector<RequestId> result;
  for (const Json& name : names) result.push_back(id(name.get<std::string>()));
  return result;
}

Json RequestNames::state_idx_json(const MambaStateIdx& mamba_state_idx) const {
  Json json = Json::object();
  for (const auto& [request, column] : mamba_state_idx)
    json[names_.at(static_cast<std::size_t>(request.value))] = column;
  return json;
}

MambaStateIdx RequestNames::state_idx(const Json& object) {
  MambaStateIdx result;
  for (const auto& [name, column] : object.items()) result[id(name)] = column.get<std::int32_t>();
  return result;
}

std::vector<std::int32_t> by_name(const Json& names, const Json& values, std::int32_t missing) {
  std::vector<std::int32_t> result;
  for (const Json& name : names) result.push_back(values.value(name.get<std::string>(), missing));
  return result;
}

GoldenMemory::GoldenMemory(const Json& memory) {
  const auto seed = memory.at("pattern_seed").get<std::uint64_t>();
  for (const Json& size : memory.at("raw_bytes")) {
    std::vector<std::byte> bytes(size.get<std::size_t>());
    for (std::uint64_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>((i * 131 + (i >> 7) * 29 + raw_.size() * 71 + seed) & 255);
    raw_.push_back(std::move(bytes));
  }
  for (const Json& layer : memory.at("layers")) {
    places_.emplace_back();
    for (const Json& state : layer.at("states"))
      places_.back().push_back({.raw = state.at("raw").get<std::size_t>(),
                                .byte_offset = state.at("byte_offset").get<std::size_t>()});
  }
}

std::vector<std::span<std::byte>> GoldenMemory::states() {
  std::vector<std::span<std::byte>> spans;
  for (const auto& layer : places_)
    for (const Place& place : layer)
      spans.push_back(std::span(raw_[place.raw]).subspan(place.byte_offset));
  return spans;
}

Json GoldenMemory::raw_crc32() const {
  Json json = Json::array();
  for (const auto& bytes : raw_) json.push_back(crc32_of(bytes));
  return json;
}

std::span<const std::byte> GoldenMemory::state(std::size_t layer, std::size_t state) const {
  const Place& place = places_.at(layer).at(state);
  return std::span(raw_.at(place.raw)).subspan(place.byte_offset);
}

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()),
                                            static_cast<unsigned int>(bytes.size())));
}

}  // namespace hybridscope::test
