#include <algorithm>
#include <list>
#include <string>

#include "core/engine/aligned_split_policies.h"
#include "core/engine/scheduler.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {

// gdn_builder, mamba_builder and mamba2_builder: all calls of a case on one builder.

namespace {

using nlohmann::json;

// The dtypes of the token index tensors that are not None.
json dtypes_json(const GdnMetadata& metadata) {
  const char* dtype = metadata.token_indx_dtype == TokenIndxDtype::int64 ? "int64" : "int32";
  json dtypes = json::object();
  if (metadata.spec_token_indx.present) dtypes["spec_token_indx"] = dtype;
  if (metadata.non_spec_token_indx.present) dtypes["non_spec_token_indx"] = dtype;
  return dtypes;
}

const MambaMetadataBuilder& base_of(const MambaMetadataBuilder& builder) { return builder; }
const MambaMetadataBuilder& base_of(const Mamba2MetadataBuilder& builder) { return builder.base(); }

json init_json(const MambaMetadataBuilder& builder) {
  const auto table = builder.persistent_views().state_indices_tensor_d;
  return {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
          {"reorder_batch_threshold", builder.reorder_batch_threshold()},
          {"supports_update_block_table", builder.supports_update_block_table()},
          {"state_indices_tensor_d_shape", {table.rows, table.cols}}};
}

template <class Builder>
json recompute(const VectorCase& vector) {
  using Metadata = typename Builder::Metadata;
  auto created = Builder::create(read_builder_config(vector.config, BuilderFamily::mamba));
  if (!created) return {{"init", error_json(created.error())}, {"results", json::array()}};
  Builder& builder = created.value();
  std::list<BuilderCall> calls;
  Metadata latest;
  const auto run = [&](const JsonValue& asked) -> Result<Metadata> {
    BuilderCall& call = calls.emplace_back();
    const auto op =
        asked["op"].one_of({"build", "build_for_cudagraph_capture", "update_block_table"});
    if (op == 2) {
      // Only the latest metadata can be updated: older metadata shares its arrays with it.
      const JsonValue from = asked["metadata_from_call"];
      const std::int64_t index = std::ssize(calls) - 1;
      if (index == 0 || from.int64() != index - 1)
        from.fail("expected the number of the call before, " + std::to_string(index) +
                  " - 1, found " + from.dump());
      call.batch.block_table = read_table(asked["block_table"], asked["block_table_shape"]);
      return builder.update_block_table(latest, call.batch.block_table.view());
    }
    call = BuilderCall(read_builder_batch(asked), asked);
    const CommonAttentionMetadata common = call.batch.view();
    if (op == 1) return builder.build_for_cudagraph_capture(common);
    const auto counts = call.num_accepted_tokens.view();
    const auto split =
        split_mamba_batch_by_shape(common, builder.reorder_batch_threshold(), counts);
    if (!split) return split.error();
    return builder.build({.common = common, .split = split.value(), .num_accepted_tokens = counts});
  };
  return {{"init", init_json(base_of(builder))},
          {"results", answer_until_error(vector.input, [&](const JsonValue& asked) {
             const auto metadata = run(asked);
             if (!metadata) return error_json(metadata.error());
             latest = metadata.value();
             return metadata_json(named_arrays(latest));
           })}};
}

}  // namespace

json recompute_gdn_builder(const VectorCase& vector, const VectorKernels&) {
  auto created = GdnMetadataBuilder::create(read_builder_config(vector.config, BuilderFamily::gdn));
  if (!created) return {{"init", error_json(created.error())}, {"results", json::array()}};
  GdnMetadataBuilder& builder = created.value();
  return {{"init",
           {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
            {"reorder_batch_threshold", builder.reorder_batch_threshold()}}},
          {"results", answer_until_error(vector.input, [&](const JsonValue& asked) {
             const auto op = asked["op"].one_of({"build", "build_for_cudagraph_capture"});
             BuilderCall call(read_builder_batch(asked), asked);
             const auto metadata = op == 0 ? build_gdn(builder, {}, call)
                                           : builder.build_for_cudagraph_capture(call.batch.view());
             if (!metadata) return error_json(metadata.error());
             json result = metadata_json(named_arrays(metadata.value()));
             result["dtypes"] = dtypes_json(metadata.value());
             return result;
           })}};
}

json recompute_mamba_builder(const VectorCase& vector, const VectorKernels&) {
  return recompute<MambaMetadataBuilder>(vector);
}

json recompute_mamba2_builder(const VectorCase& vector, const VectorKernels&) {
  return recompute<Mamba2MetadataBuilder>(vector);
}

// varlen_chunks, conv1d_metadata, fla_chunks, split_batch, block_table_gather, prefix_block_indices
// and mamba_aligned_split: how rows are classified and which columns and chunks follow.

namespace {

// Throws when the number of pieces of `size` tokens would exceed the limit for an answer.
void check_pieces(const JsonValue& place, const std::vector<std::int32_t>& offsets,
                  std::int32_t size) {
  std::int64_t pieces = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    pieces += std::max(offsets[i + 1] - offsets[i], 0) / std::max(size, 1) + 2;
  if (pieces > kMaxVectorElements)
    place.fail("up to " + std::to_string(pieces) + " pieces (expected at most " +
               std::to_string(kMaxVectorElements) + ")");
}

// The first `written` elements, followed by the rest up to the last element that is not -1.
json pointer_json(const TensorView<std::int32_t>& array, std::int32_t written) {
  std::int32_t end = array.rows;
  while (end > written && array.at(end - 1) == -1) --end;
  return {
      {"length", array.rows}, {"prefix", list_json(vector_view(array.data, end))}, {"fill", -1}};
}

json split_json(const Result<BatchSplit>& split) {
  if (!split) return error_json(split.error());
  return {{"num_decodes", split.value().num_decodes},
          {"num_prefills", split.value().num_prefills},
          {"num_decode_tokens", split.value().num_decode_tokens},
          {"num_prefill_tokens", split.value().num_prefill_tokens}};
}

// Other modes take the table as it is.
bool gathers_on_device(const BlockTableGatherInput& input) {
  return input.config.mamba_cache_mode == MambaCacheMode::align && !input.seq_lens.empty();
}

json gathered_json(const TensorView<std::int32_t>& gathered) {
  return {{"shape", {gathered.rows, gathered.cols}}, {"data", rows_json(gathered)}};
}

}  // namespace

json recompute_varlen_chunks(const VectorCase& vector, const VectorKernels&) {
  const JsonValue place = vector.input["query_start_loc"];
  const std::vector<std::int32_t> query_start_loc = read_token_counts(place);
  const std::int32_t chunk_size = read_tokens(vector.config["chunk_size"]);
  check_pieces(place, query_start_loc, chunk_size);
  const auto chunks = compute_varlen_chunk_metadata(query_start_loc, chunk_size);
  if (!chunks) return error_json(chunks.error());
  return {{"cu_chunk_seqlens", chunks.value().cu_chunk_seqlens},
          {"last_chunk_indices", chunks.value().last_chunk_indices},
          {"seq_idx_chunks", chunks.value().seq_idx_chunks}};
}

json recompute_conv1d_metadata(const VectorCase& vector, const VectorKernels&) {
  const JsonValue place = vector.input["query_start_loc"];
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

json recompute_fla_chunks(const VectorCase& vector, const VectorKernels&) {
  const JsonValue place = vector.input["cu_seqlens"];
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

json recompute_split_batch(const VectorCase& vector, const VectorKernels&) {
  const VectorBatch batch = read_batch(vector.input);
  return split_json(split_decodes_and_prefills(
      batch.view(), {.decode_threshold = read_tokens(vector.config["decode_threshold"]),
                     .require_uniform = vector.config["require_uniform"].boolean()}));
}

json recompute_split_batch_v2(const VectorCase& vector, const VectorKernels&) {
  const VectorBatch batch = read_batch(vector.input);
  const JsonValue& config = vector.config;
  return split_json(split_decodes_and_prefills_v2(
      batch.view(),
      {.decode_threshold = read_tokens(config["decode_threshold"]),
       .require_uniform = config["require_uniform"].boolean(),
       .treat_short_extends_as_decodes = config["treat_short_extends_as_decodes"].boolean()}));
}

json recompute_block_table_gather(const VectorCase& vector, const VectorKernels& kernels) {
  const JsonValue& config = vector.config;
  const VectorTable table =
      read_table(vector.input["block_table"], vector.input["block_table_shape"]);
  const std::vector<std::int32_t> seq_lens = read_token_counts(vector.input["seq_lens"]);
  const std::int32_t num_speculative_blocks = read_size(config["num_speculative_blocks"], 0);
  const auto elements = static_cast<std::int64_t>(seq_lens.size()) *
                        (static_cast<std::int64_t>(num_speculative_blocks) + 2);
  if (elements > kMaxVectorElements)
    config["num_speculative_blocks"].fail("asks for " + std::to_string(elements) +
                                          " block ids (expected at most " +
                                          std::to_string(kMaxVectorElements) + ")");
  std::vector<std::int32_t> storage(static_cast<std::size_t>(elements));
  const BlockTableGatherInput input{
      .config = {.mamba_cache_mode = read_mamba_cache_mode(config["mamba_cache_mode"]),
                 .block_size = ReciprocalDivider(read_size(config["block_size"], 1)),
                 .num_speculative_blocks = num_speculative_blocks},
      .block_table = table.view(),
      .seq_lens = seq_lens};
  const auto gathered = mamba_get_block_table_tensor(input, storage);
  if (!gathered) return error_json(gathered.error());
  const TensorView<std::int32_t>& tensor = gathered.value();
  if (!kernels.gather_block_table || !gathers_on_device(input)) return gathered_json(tensor);
  const auto on_device = kernels.gather_block_table(input);
  if (!on_device) expect_launched(on_device.error());
  return gathered_json(matrix_view(on_device.value().data(), tensor.rows, tensor.cols));
}

json recompute_prefix_block_indices(const VectorCase& vector, const VectorKernels&) {
  VectorBatch batch{.query_start_loc = read_token_counts(vector.input["query_start_loc"]),
                    .seq_lens = read_token_counts(vector.input["seq_lens"])};
  if (batch.query_start_loc.size() != batch.seq_lens.size() + 1)
    vector.input["seq_lens"].fail("expected one element less than query_start_loc, which has " +
                                  std::to_string(batch.query_start_loc.size()));
  batch.num_reqs = static_cast<std::int32_t>(batch.seq_lens.size());
  const std::int32_t block_size = read_size(vector.config["block_size"], 1);
  json last_computed = json::array();
  json first_scheduled = json::array();
  json last_scheduled = json::array();
  for (std::int32_t row = 0; row < batch.num_reqs; ++row) {
    const PrefixBlockIndices indices =
        compute_prefix_block_indices({.num_computed_tokens = num_computed_tokens(batch.view(), row),
                                      .seq_len = batch.seq_lens[static_cast<std::size_t>(row)],
                                      .block_size = block_size});
    last_computed.push_back(indices.block_idx_last_computed_token);
    first_scheduled.push_back(indices.block_idx_first_scheduled_token);
    last_scheduled.push_back(indices.block_idx_last_scheduled_token);
  }
  return {{"block_idx_last_computed_token", last_computed},
          {"block_idx_first_scheduled_token", first_scheduled},
          {"block_idx_last_scheduled_token", last_scheduled}};
}

json recompute_mamba_aligned_split(const VectorCase& vector, const VectorKernels&) {
  const auto tokens = [&](std::string_view name) { return read_size(vector.input[name], 0); };
  AlignedSplitInputs inputs{
      .num_computed_tokens = tokens("num_computed_tokens"),
      .num_prompt_tokens = tokens("num_prompt_tokens"),
      .num_tokens = tokens("num_tokens"),
      .num_new_tokens = tokens("num_new_tokens"),
      .num_new_local_computed_tokens = tokens("num_new_local_computed_tokens"),
      .num_external_computed_tokens = tokens("num_external_computed_tokens")};
  inputs.shared_prefix_boundary =
      inputs.num_computed_tokens + inputs.num_new_local_computed_tokens +
      inputs.num_external_computed_tokens + tokens("num_uncached_common_prefix_tokens");
  return {{"num_new_tokens",
           mamba_block_aligned_split(AlignedSplit::until_last_cache_position,
                                     {.block_size = read_size(vector.config["block_size"], 1),
                                      .use_eagle = vector.config["use_eagle"].boolean()},
                                     inputs)}};
}

}  // namespace hybridscope
