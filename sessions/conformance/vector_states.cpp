#include "sessions/conformance/vector_states.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace hybridscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDims = 8;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 28;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 32;
constexpr std::int32_t kMaxElemSize = 16;
constexpr double kMaxBytes = 0x1p60;

std::vector<std::int64_t> read_dims(const JsonValue& array, std::int64_t max) {
  std::vector<std::int64_t> dims;
  for (const JsonValue& dim : array.elements()) dims.push_back(dim.int64({0, max}));
  if (dims.size() > kMaxDims) array.fail(fmt::format("more than {} dimensions", kMaxDims));
  return dims;
}

// Computed in doubles, because the check is whether the products fit.
void check_extent(const StateTensor& state, const JsonValue& place) {
  double elements = 1;
  double reach = 1;
  for (std::size_t i = 0; i < state.shape.size(); ++i) {
    elements *= static_cast<double>(std::max<std::int64_t>(state.shape[i], 1));
    reach += static_cast<double>(state.shape[i]) * static_cast<double>(state.stride[i]);
  }
  if (std::max(elements, reach) * state.elem_size > kMaxBytes)
    place.fail("the state is larger than any memory");
}

StateKind read_state_kind(const JsonValue& name) {
  return name.one_of({"conv", "temporal"}) == 0 ? StateKind::conv : StateKind::temporal;
}

MambaLayerStates read_layer(const JsonValue& layer, const MambaStateTensors& tensors) {
  const JsonValue group_id = layer["group_id"];
  const auto group = std::ranges::find(tensors.mamba_group_ids, group_id.int32());
  if (group == tensors.mamba_group_ids.end()) group_id.fail("not one of mamba_groups");
  const JsonValue states = layer["states"];
  if (states.size() != tensors.state_kinds.size())
    states.fail(
        fmt::format("{} states for {} state_kinds", states.size(), tensors.state_kinds.size()));
  MambaLayerStates result;
  result.group_index = static_cast<std::int32_t>(group - tensors.mamba_group_ids.begin());
  for (const JsonValue& state : states.elements())
    result.states.push_back(read_state_tensor(state["shape"], state["stride"], state["elem_size"]));
  return result;
}

}  // namespace

std::int32_t read_count(const JsonValue& value) {
  return value.int32({-kMaxVectorCount, kMaxVectorCount});
}

std::vector<std::int32_t> read_counts(const JsonValue& array, std::int64_t length) {
  std::vector<std::int32_t> counts = array.int32s(length);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < -kMaxVectorCount || counts[i] > kMaxVectorCount) read_count(array[i]);
  return counts;
}

std::int32_t read_max_num_reqs(const JsonValue& config) {
  return config["max_num_reqs"].int32({0, kMaxVectorRequests});
}

StateTensor read_state_tensor(const JsonValue& shape, const JsonValue& stride,
                              const JsonValue& elem_size) {
  StateTensor state{.shape = read_dims(shape, kMaxDim),
                    .stride = read_dims(stride, kMaxStride),
                    .elem_size = elem_size.int32({1, kMaxElemSize})};
  if (state.shape.size() != state.stride.size())
    stride.fail(
        fmt::format("{} strides for {} dimensions", state.stride.size(), state.shape.size()));
  check_extent(state, shape);
  return state;
}

ConvStateLayout read_conv_state_layout(const JsonValue& config) {
  return config["layout"].one_of({"SD", "DS"}) == 1 ? ConvStateLayout::DS : ConvStateLayout::SD;
}

MambaStateTensors read_mamba_state_tensors(const JsonValue& config) {
  MambaStateTensors tensors;
  tensors.conv_state_layout = read_conv_state_layout(config);
  tensors.block_size = config["block_size"].int32({1, kMaxVectorCount});
  for (const JsonValue& group : config["mamba_groups"].elements())
    tensors.mamba_group_ids.push_back(group[std::size_t{0}].int32({0, kMaxVectorCount}));
  const JsonValue memory = config["memory"];
  for (const JsonValue& kind : memory["state_kinds"].elements())
    tensors.state_kinds.emplace_back(read_state_kind(kind));
  if (tensors.state_kinds.empty()) memory.fail("a layer has no state_kinds");
  for (const JsonValue& layer : memory["layers"].elements())
    tensors.layers.push_back(read_layer(layer, tensors));
  return tensors;
}

json layout_json(const StateLayout& layout) {
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

VectorBlockTables::VectorBlockTables(const JsonValue& block_tables) {
  for (const JsonValue& table : block_tables.elements()) tables_.push_back(read_table(table));
  for (const VectorTable& table : tables_) views_.push_back(table.view());
}

Result<std::vector<MambaBlockTable>> VectorBlockTables::of_groups(
    std::span<const std::int32_t> mamba_group_ids) const {
  if (views_.size() != mamba_group_ids.size())
    return invalid_input("expected " + std::to_string(mamba_group_ids.size()) +
                         " block tables, got " + std::to_string(views_.size()));
  std::vector<MambaBlockTable> tables;
  for (std::size_t i = 0; i < views_.size(); ++i)
    tables.push_back({.group = mamba_group_ids[i], .ids = views_[i], .num_blocks_per_row = {}});
  return tables;
}

std::vector<std::int64_t> VectorBlockTables::row_strides() const {
  std::vector<std::int64_t> strides;
  for (const VectorTable& table : tables_) strides.push_back(table.cols);
  return strides;
}

json state_copies_json(const MambaStateTensors& tensors, std::span<const StateCopy> copies) {
  const std::size_t num_kinds = tensors.state_kinds.size();
  json result = json::array();
  for (const StateCopy& copy : copies) {
    const auto index = static_cast<std::size_t>(copy.state_index);
    const MambaLayerStates& layer = tensors.layers[index / num_kinds];
    result.push_back({tensors.mamba_group_ids[static_cast<std::size_t>(layer.group_index)],
                      index / num_kinds, index % num_kinds, copy.src_byte_offset,
                      copy.dst_byte_offset, copy.row_bytes});
  }
  return result;
}

json row_copies_json(std::span<const RowStateCopy> copies) {
  json result = json::array();
  for (const auto& [row, copy] : copies)
    result.push_back({row, copy.state_index, copy.src_byte_offset, copy.dst_byte_offset,
                      copy.row_bytes, copy.num_rows, copy.row_stride_bytes});
  return result;
}

CopyLaunch launch_of(std::span<const StateCopyDecision> decisions, MambaBlockTables tables) {
  CopyLaunch launch;
  for (const StateCopyDecision& decision : decisions)
    launch.decisions.push_back({.request = {},
                                .row = static_cast<std::int32_t>(launch.decisions.size()),
                                .decision = decision});
  collect_batch_copy_meta(decisions, tables, launch.copies);
  return launch;
}

std::vector<StateCopy> without_rows(std::span<const RowStateCopy> copies) {
  std::vector<StateCopy> result;
  for (const RowStateCopy& planned : copies) result.push_back(planned.copy);
  return result;
}

RequestId VectorRequests::id(const std::string& name) {
  const auto [entry, added] =
      ids_.try_emplace(name, RequestId{static_cast<std::int32_t>(names_.size())});
  if (added) names_.push_back(name);
  return entry->second;
}

std::vector<RequestId> VectorRequests::ids(std::span<const std::string> names) {
  std::vector<RequestId> result;
  for (const std::string& name : names) result.push_back(id(name));
  return result;
}

nlohmann::json VectorRequests::state_idx_json(const MambaStateIdx& mamba_state_idx) const {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [request, column] : mamba_state_idx.entries())
    result[names_.at(static_cast<std::size_t>(request.value))] = column;
  return result;
}

MambaStateIdx VectorRequests::state_idx(const JsonValue& object) {
  MambaStateIdx result;
  for (const auto& [name, column] : object.members()) result.set(id(name), read_count(column));
  return result;
}

VectorGoneRequests::VectorGoneRequests(const JsonValue& step, VectorRequests& requests)
    : finished(requests.ids(step["finished_req_ids"])),
      preempted(requests.ids(step["preempted_req_ids"])),
      resumed(requests.ids(step["resumed_req_ids"])) {}

Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const JsonValue& counts) {
  std::vector<std::int32_t> result;
  for (const std::string& name : names) {
    const auto count = counts.find_non_null(name);
    if (!count) return invalid_input(counts.pointer() + " has no entry for \"" + name + "\"");
    result.push_back(read_count(*count));
  }
  return result;
}

std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const JsonValue& counts) {
  std::vector<std::int32_t> result;
  for (const std::string& name : names) {
    const auto count = counts.find_non_null(name);
    result.push_back(count ? read_count(*count) : 0);
  }
  return result;
}

}  // namespace hybridscope
