#include "sessions/conformance/builder_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/math.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {
namespace {

using nlohmann::json;

json element_json(const NamedArray& array, std::int64_t value) {
  if (array.dtype == ArrayDtype::boolean) return value != 0;
  if (value == kNeverWritten) return nullptr;
  return value;
}

json elements_json(const NamedArray& array, std::size_t first, std::size_t count) {
  json list = json::array();
  for (std::size_t i = first; i < first + count; ++i)
    list.push_back(element_json(array, array.values[i]));
  return list;
}

json nested_json(const NamedArray& array) {
  if (array.dims.size() == 1) return elements_json(array, 0, array.values.size());
  json rows = json::array();
  const auto cols = static_cast<std::size_t>(array.dims[1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(array.dims[0]); ++row)
    rows.push_back(elements_json(array, row * cols, cols));
  return rows;
}

json value_json(const NamedArray& array) {
  if (!array.present) return nullptr;
  if (array.dtype == ArrayDtype::host_bool) return array.values[0] != 0;
  if (array.dtype == ArrayDtype::host_int) return array.values[0];
  if (array.name.starts_with("nums_dict")) return nested_json(array);
  if (array.fill != 0)
    return {{"length", array.dims[0]}, {"prefix", array.values}, {"fill", array.fill}};
  return {{"shape", array.dims}, {"data", nested_json(array)}};
}

void check_persistent_size(const VectorValue& place, const MambaBuilderConfig& config,
                           BuilderFamily family) {
  const std::int64_t window = std::int64_t{config.num_spec} + 1;
  const std::int64_t rows_asked = config.max_num_seqs * (family == BuilderFamily::gdn ? window : 1);
  const std::int64_t rows =
      std::min<std::int64_t>(rows_asked, config.max_cudagraph_capture_size.value_or(kMaxTokens));
  std::int64_t columns = window;
  if (family == BuilderFamily::mamba && config.mamba_cache_mode == MambaCacheMode::all)
    columns = cdiv(config.max_model_len, config.block_size);
  if (rows_asked <= kMaxTokens && rows * columns <= kMaxPersistentElements) return;
  place.fail("persistent arrays for " + std::to_string(rows_asked) + " rows of " +
             std::to_string(columns) + " columns (expected at most " +
             std::to_string(kMaxPersistentElements) + " elements)");
}

}  // namespace

MambaBuilderConfig read_builder_config(const VectorValue& config, BuilderFamily family) {
  MambaBuilderConfig result;
  result.mamba_cache_mode = read_mamba_cache_mode(config["mamba_cache_mode"]);
  result.block_size = read_size(config["block_size"], 1);
  result.num_spec = read_size(config["num_spec"], 0);
  result.num_speculative_blocks = result.num_spec;
  result.max_num_seqs = read_size(config["max_num_seqs"], 0);
  result.max_model_len = read_size(config["max_model_len"], 0);
  if (const auto size = config.find("max_cudagraph_capture_size"))
    result.max_cudagraph_capture_size = read_size(*size, 0);
  result.full_cudagraph = config["full_cudagraph"].boolean();
  result.parallel_drafting = config["parallel_drafting"].boolean();
  result.decode_context_parallel_size = read_size(config["decode_context_parallel_size"], 1);
  if (const auto size = config.find("chunk_size")) result.chunk_size = read_tokens(*size);
  check_persistent_size(config, result, family);
  return result;
}

TensorView<std::int32_t> OptionalCounts::view() const {
  if (!counts) return {};
  return vector_view(counts->data(), static_cast<std::int32_t>(counts->size()));
}

OptionalCounts read_optional_counts(const VectorValue& call, std::string_view name) {
  const auto counts = call.find(name);
  if (!counts) return {};
  return {.counts = read_token_counts(*counts)};
}

VectorBatch read_builder_batch(const VectorValue& call) {
  const VectorValue common = call["common"];
  VectorBatch batch = read_batch_with_blocks(common);
  if (batch.num_actual_tokens < 0) common["num_actual_tokens"].int32_in(0, kMaxTokens);
  std::int64_t tokens = batch.num_actual_tokens;
  for (std::size_t i = 0; i + 1 < batch.query_start_loc.size(); ++i)
    tokens += std::max(batch.query_start_loc[i + 1] - batch.query_start_loc[i], 0);
  if (tokens > kMaxVectorElements)
    common.fail(std::to_string(tokens) + " tokens (expected at most " +
                std::to_string(kMaxVectorElements) + ")");
  return batch;
}

json metadata_json(const std::vector<NamedArray>& arrays) {
  json result = json::object();
  for (const NamedArray& array : arrays) {
    json* place = &result;
    std::string_view name = array.name;
    for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
      place = &(*place)[std::string(name.substr(0, dot))];
      name.remove_prefix(dot + 1);
    }
    (*place)[std::string(name)] = value_json(array);
  }
  return {{"metadata", std::move(result)}};
}

}  // namespace hybridscope
