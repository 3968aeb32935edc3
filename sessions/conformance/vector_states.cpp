#include "sessions/conformance/vector_states.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
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

VectorTable read_table(const JsonValue& value) {
  VectorTable table;
  value.each_element([&](const JsonValue& row) {
    const std::vector<std::int32_t> values = row.int32s(table.rows == 0 ? -1 : table.cols);
    ++table.rows;
    table.cols = static_cast<std::int32_t>(values.size());
    table.data.insert(table.data.end(), values.begin(), values.end());
  });
  return table;
}

VectorTable read_table(const JsonValue& value, const JsonValue& shape) {
  const std::vector<std::int32_t> dims = shape.int32s(2);
  VectorTable found = read_table(value);
  if (found.rows == 0) found.cols = dims[1];
  if (dims[0] < 0 || dims[1] < 0 || found.rows != dims[0] || found.cols != dims[1])
    shape.fail(fmt::format("expected the shape of the table, [{}, {}], found [{}, {}]", found.rows,
                           found.cols, dims[0], dims[1]));
  return found;
}

std::int32_t read_tokens(const JsonValue& value) { return value.int32({-kMaxTokens, kMaxTokens}); }

std::vector<std::int32_t> read_token_counts(const JsonValue& array) {
  std::vector<std::int32_t> counts = array.int32s();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < -kMaxTokens || counts[i] > kMaxTokens) counts[i] = read_tokens(array[i]);
  return counts;
}

std::int32_t read_size(const JsonValue& value, std::int32_t least) {
  return value.int32({least, kMaxTokens});
}

MambaCacheMode read_mamba_cache_mode(const JsonValue& value) {
  constexpr std::array kModes = {MambaCacheMode::none, MambaCacheMode::all, MambaCacheMode::align};
  return kModes[value.one_of({"none", "all", "align"})];
}

CommonAttentionMetadata VectorBatch::view() const {
  CommonAttentionMetadata common;
  common.query_start_loc = query_start_loc;
  common.seq_lens = seq_lens;
  common.num_reqs = num_reqs;
  common.num_actual_tokens = num_actual_tokens;
  common.max_query_len = max_query_len;
  common.block_table_tensor = block_table.view();
  common.is_prefilling = is_prefilling;
  return common;
}

VectorBatch read_batch(const JsonValue& common) {
  VectorBatch batch{.query_start_loc = read_token_counts(common["query_start_loc"]),
                    .num_reqs = common["num_reqs"].int32({0, kMaxTokens}),
                    .num_actual_tokens = read_tokens(common["num_actual_tokens"]),
                    .max_query_len = read_tokens(common["max_query_len"])};
  if (const auto is_prefilling = common.find_non_null("is_prefilling"))
    for (const JsonValue& row : is_prefilling->elements())
      batch.is_prefilling.push_back(row.boolean() ? 1 : 0);
  return batch;
}

VectorBatch read_batch_with_blocks(const JsonValue& common) {
  VectorBatch batch = read_batch(common);
  batch.seq_lens = read_token_counts(common["seq_lens"]);
  batch.block_table = read_table(common["block_table"]);
  return batch;
}

RequestBlockTables::RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                                       std::span<const std::int32_t> mamba_group_ids,
                                       std::int32_t columns) {
  static const std::vector<std::int32_t> kNoBlocks;
  for (const std::int32_t group : mamba_group_ids) {
    const auto ids_of = [group](const RequestBlockIds& lists) -> const std::vector<std::int32_t>& {
      return static_cast<std::size_t>(group) < lists.size() ? lists[static_cast<std::size_t>(group)]
                                                            : kNoBlocks;
    };
    Group made{.group = group, .table = {}, .num_blocks_per_row = {}};
    made.table.rows = static_cast<std::int32_t>(block_ids.size());
    made.table.cols = columns;
    for (const RequestBlockIds& lists : block_ids)
      made.table.cols = std::max(made.table.cols, static_cast<std::int32_t>(ids_of(lists).size()));
    for (const RequestBlockIds& lists : block_ids) {
      const std::vector<std::int32_t>& ids = ids_of(lists);
      made.num_blocks_per_row.push_back(static_cast<std::int32_t>(ids.size()));
      made.table.data.insert(made.table.data.end(), ids.begin(), ids.end());
      made.table.data.resize(
          made.num_blocks_per_row.size() * static_cast<std::size_t>(made.table.cols), kNullBlock);
    }
    groups_.push_back(std::move(made));
  }
}

std::vector<MambaBlockTable> RequestBlockTables::lists() const {
  std::vector<MambaBlockTable> tables = padded();
  for (std::size_t i = 0; i < tables.size(); ++i)
    tables[i].num_blocks_per_row = groups_[i].num_blocks_per_row;
  return tables;
}

std::vector<MambaBlockTable> RequestBlockTables::padded() const {
  std::vector<MambaBlockTable> tables;
  for (const Group& group : groups_)
    tables.push_back({.group = group.group, .ids = group.table.view(), .num_blocks_per_row = {}});
  return tables;
}

}  // namespace hybridscope
