// varlen_chunks, conv1d_metadata and fla_chunks: how kernels cut packed tokens.
#include <algorithm>
#include <string>

#include "core/metadata/causal_conv1d_metadata_builder.h"
#include "core/metadata/chunk_metadata.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_batch.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// Throws when pieces of `size` tokens would be more than any answer may have.
void check_pieces(const VectorValue& place, const std::vector<std::int32_t>& offsets,
                  std::int32_t size) {
  std::int64_t pieces = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    pieces += std::max(offsets[i + 1] - offsets[i], 0) / std::max(size, 1) + 2;
  if (pieces > kMaxVectorElements)
    place.fail("up to " + std::to_string(pieces) + " pieces (expected at most " +
               std::to_string(kMaxVectorElements) + ")");
}

// The first `written` elements, and behind them all up to the last that is not -1.
json pointer_json(const TensorView<std::int32_t>& array, std::int32_t written) {
  std::int32_t end = array.rows;
  while (end > written && array.at(end - 1) == -1) --end;
  return {
      {"length", array.rows}, {"prefix", list_json(vector_view(array.data, end))}, {"fill", -1}};
}

}  // namespace

json recompute_varlen_chunks(const VectorCase& vector, ExecuteCopies) {
  const VectorValue place = vector.input["query_start_loc"];
  const std::vector<std::int32_t> query_start_loc = read_token_counts(place);
  const std::int32_t chunk_size = read_tokens(vector.config["chunk_size"]);
  check_pieces(place, query_start_loc, chunk_size);
  const auto chunks = compute_varlen_chunk_metadata(query_start_loc, chunk_size);
  if (!chunks) return error_json(chunks.error());
  return {{"cu_chunk_seqlens", chunks.value().cu_chunk_seqlens},
          {"last_chunk_indices", chunks.value().last_chunk_indices},
          {"seq_idx_chunks", chunks.value().seq_idx_chunks}};
}

json recompute_conv1d_metadata(const VectorCase& vector, ExecuteCopies) {
  const VectorValue place = vector.input["query_start_loc"];
  const std::vector<std::int32_t> query_start_loc = read_token_counts(place);
  check_pieces(place, query_start_loc, kCausalConv1dBlockM);
  CausalConv1dMetadataBuilder builder;
  const auto conv1d = builder.compute(query_start_loc);
  if (!conv1d) return error_json(conv1d.error());
  const CausalConv1dMetadata& m = conv1d.value();
  return {{"nums_dict",
           {{std::to_string(kCausalConv1dBlockM),
             {{"nums", list_json(m.nums)},
              {"tot", m.tot},
              {"mlist", list_json(m.mlist())},
              {"mlist_len", m.tot},
              {"offsetlist", list_json(m.offsetlist())}}}}},
          {"batch_ptr", pointer_json(m.batch_ptr, m.tot)},
          {"token_chunk_offset_ptr", pointer_json(m.token_chunk_offset_ptr, m.tot)}};
}

json recompute_fla_chunks(const VectorCase& vector, ExecuteCopies) {
  const VectorValue place = vector.input["cu_seqlens"];
  const std::vector<std::int32_t> cu_seqlens = read_token_counts(place);
  const std::int32_t chunk_size = read_tokens(vector.config["chunk_size"]);
  check_pieces(place, cu_seqlens, chunk_size);
  FlaChunkBuilder builder;
  json answer = json::object();
  if (const auto indices = builder.prepare_chunk_indices(cu_seqlens, chunk_size); indices) {
    answer["chunk_indices"] = rows_json(indices.value());
    answer["chunk_indices_shape"] = {indices.value().rows, indices.value().cols};
  } else {
    answer["chunk_indices"] = error_json(indices.error());
  }
  if (const auto offsets = builder.prepare_chunk_offsets(cu_seqlens, chunk_size); offsets) {
    answer["chunk_offsets"] = list_json(offsets.value());
    answer["chunk_offsets_shape"] = {offsets.value().rows};
  } else {
    answer["chunk_offsets"] = error_json(offsets.error());
  }
  return answer;
}

}  // namespace hybridscope
