#include "tests/core/metadata/batch_support.h"

#include <algorithm>
#include <string>

namespace hybridscope::test {
namespace {

Json list_json(const NamedArray& array) {
  if (array.dtype != ArrayDtype::boolean) return Json(array.values);
  Json list = Json::array();
  for (const std::int64_t value : array.values) list.push_back(value != 0);
  return list;
}

Json rows_json(const NamedArray& array) {
  const Json flat = list_json(array);
  if (array.dims.size() == 1) return flat;
  Json rows = Json::array();
  for (std::int64_t r = 0; r < array.dims[0]; ++r) {
    Json row = Json::array();
    for (std::int64_t c = 0; c < array.dims[1]; ++c)
      row.push_back(flat[static_cast<std::size_t>(r * array.dims[1] + c)]);
    rows.push_back(row);
  }
  return rows;
}

Json value_json(const NamedArray& array) {
  if (!array.present) return nullptr;
  if (array.dtype == ArrayDtype::host_bool) return array.values[0] != 0;
  if (array.dtype == ArrayDtype::host_int) return array.values[0];
  if (array.name.substr(0, 9) == "nums_dict") return list_json(array);
  if (array.fill != 0)
    return {{"length", array.dims[0]}, {"prefix", array.values}, {"fill", array.fill}};
  return {{"shape", array.dims}, {"data", rows_json(array)}};
}

}  // namespace

CommonAttentionMetadata Batch::view() const {
  CommonAttentionMetadata common;
  common.query_start_loc = query_start_loc;
  common.seq_lens = seq_lens;
  common.num_reqs = num_reqs();
  common.num_actual_tokens = num_actual_tokens;
  common.max_query_len = max_query_len;
  common.block_table_tensor = matrix_view(block_table.data(), table_rows, columns);
  common.is_prefilling = is_prefilling;
  return common;
}

Batch make_batch(std::span<const Row> rows, std::int32_t columns) {
  Batch batch;
  batch.columns = columns;
  for (const Row& row : rows) {
    batch.query_start_loc.push_back(batch.query_start_loc.back() + row.query_len);
    batch.seq_lens.push_back(row.num_computed_tokens + row.query_len);
    batch.max_query_len = std::max(batch.max_query_len, row.query_len);
    const std::int32_t first_block = 100 * batch.num_reqs();
    for (std::int32_t c = 0; c < columns; ++c) batch.block_table.push_back(first_block + c);
  }
  batch.num_actual_tokens = batch.query_start_loc.back();
  batch.table_rows = batch.num_reqs();
  return batch;
}

Batch make_batch(std::initializer_list<Row> rows, std::int32_t columns) {
  return make_batch(std::span<const Row>(rows.begin(), rows.size()), columns);
}

std::vector<std::int32_t> values(const TensorView<std::int32_t>& view) {
  return {view.data, view.data + view.size()};
}

std::vector<int> flags(const TensorView<std::uint8_t>& view) {
  return {view.data, view.data + view.size()};
}

Batch batch_from_json(const Json& common) {
  Batch batch;
  batch.query_start_loc = common.at("query_start_loc").get<std::vector<std::int32_t>>();
  batch.num_actual_tokens = common.at("num_actual_tokens");
  batch.max_query_len = common.at("max_query_len");
  if (common.contains("seq_lens"))
    batch.seq_lens = common.at("seq_lens").get<std::vector<std::int32_t>>();
  if (common.contains("is_prefilling") && !common.at("is_prefilling").is_null())
    for (const bool value : common.at("is_prefilling")) batch.is_prefilling.push_back(value);
  if (!common.contains("block_table")) return batch;
  batch.table_rows = static_cast<std::int32_t>(common.at("block_table").size());
  for (const Json& row : common.at("block_table")) {
    batch.columns = static_cast<std::int32_t>(row.size());
    for (const std::int32_t block : row) batch.block_table.push_back(block);
  }
  return batch;
}

MambaBuilderConfig config_from_json(const Json& config) {
  MambaBuilderConfig result;
  const std::string mode = config.at("mamba_cache_mode");
  result.mamba_cache_mode = mode == "all"     ? MambaCacheMode::all
                            : mode == "align" ? MambaCacheMode::align
                                              : MambaCacheMode::none;
  result.block_size = config.at("block_size");
  result.num_spec = config.at("num_spec");
  result.num_speculative_blocks = result.num_spec;
  result.max_num_seqs = config.at("max_num_seqs");
  result.max_model_len = config.at("max_model_len");
  if (!config.at("max_cudagraph_capture_size").is_null())
    result.max_cudagraph_capture_size = config.at("max_cudagraph_capture_size").get<std::int32_t>();
  result.full_cudagraph = config.at("full_cudagraph");
  result.parallel_drafting = config.at("parallel_drafting");
  result.decode_context_parallel_size = config.at("decode_context_parallel_size");
  if (config.contains("chunk_size") && !config.at("chunk_size").is_null())
    result.chunk_size = config.at("chunk_size").get<std::int32_t>();
  return result;
}

Table table_from_json(const Json& data, const Json& shape) {
  Table table{.rows = shape.at(0), .columns = shape.at(1)};
  for (const Json& row : data)
    for (const std::int32_t value : row) table.values.push_back(value);
  return table;
}

std::optional<std::vector<std::int32_t>> list_from_json(const Json& list) {
  if (list.is_null()) return std::nullopt;
  return list.get<std::vector<std::int32_t>>();
}

TensorView<std::int32_t> optional_view(const std::optional<std::vector<std::int32_t>>& list) {
  if (!list) return {};
  return vector_view(list->data(), static_cast<std::int32_t>(list->size()));
}

Json metadata_json(const std::vector<NamedArray>& arrays) {
  Json result = Json::object();
  for (const NamedArray& array : arrays) {
    Json* place = &result;
    std::string_view name = array.name;
    for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
      place = &(*place)[std::string(name.substr(0, dot))];
      name.remove_prefix(dot + 1);
    }
    (*place)[std::string(name)] = value_json(array);
  }
  return result;
}

}  // namespace hybridscope::test
