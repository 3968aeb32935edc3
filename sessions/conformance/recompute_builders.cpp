// gdn_builder, mamba_builder and mamba2_builder: all calls of a case on one builder.
#include <list>
#include <string>

#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "sessions/conformance/builder_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_table.h"

namespace hybridscope {

namespace {

using nlohmann::json;

// The arrays of one call; its metadata points into them.
struct GdnCall {
  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  OptionalCounts num_decode_draft_tokens;
  std::vector<std::uint8_t> masks;
};

Result<GdnMetadata> build(GdnMetadataBuilder& builder, GdnCall& call) {
  call.masks.resize(static_cast<std::size_t>(call.batch.num_reqs));
  const auto classes =
      classify_gdn_rows_by_drafts(call.batch.view(),
                                  {.num_spec = builder.config().num_spec,
                                   .num_decode_draft_tokens = call.num_decode_draft_tokens.view()},
                                  call.masks);
  if (!classes) return classes.error();
  return builder.build({.common = call.batch.view(),
                        .num_accepted_tokens = call.num_accepted_tokens.view(),
                        .row_classes = classes.value()});
}

// The dtypes of the token index tensors that are not None.
json dtypes_json(const GdnMetadata& metadata) {
  const char* dtype = metadata.token_indx_dtype == TokenIndxDtype::int64 ? "int64" : "int32";
  json dtypes = json::object();
  if (metadata.spec_token_indx.present) dtypes["spec_token_indx"] = dtype;
  if (metadata.non_spec_token_indx.present) dtypes["non_spec_token_indx"] = dtype;
  return dtypes;
}

Result<json> run_call(GdnMetadataBuilder& builder, const JsonValue& asked) {
  GdnCall call;
  const auto op = asked["op"].one_of({"build", "build_for_cudagraph_capture"});
  call.batch = read_builder_batch(asked);
  call.num_accepted_tokens = read_optional_counts(asked, "num_accepted_tokens");
  call.num_decode_draft_tokens = read_optional_counts(asked, "num_decode_draft_tokens");
  const auto metadata =
      op == 0 ? build(builder, call) : builder.build_for_cudagraph_capture(call.batch.view());
  if (!metadata) return metadata.error();
  json result = metadata_json(named_arrays(metadata.value()));
  result["dtypes"] = dtypes_json(metadata.value());
  return result;
}

const MambaMetadataBuilder& base_of(const MambaMetadataBuilder& builder) { return builder; }
const MambaMetadataBuilder& base_of(const Mamba2MetadataBuilder& builder) { return builder.base(); }

// The arrays of one call; its metadata points into them while it is in use.
struct MambaCall {
  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  VectorTable block_table;
};

template <class Builder, class Metadata>
class Calls {
 public:
  explicit Calls(Builder& builder) : builder_(builder) {}

  Result<Metadata> run(const JsonValue& call, std::size_t index) {
    MambaCall& kept = kept_.emplace_back();
    auto metadata = dispatch(call, index, kept);
    if (metadata) latest_ = metadata.value();
    return metadata;
  }

 private:
  Result<Metadata> dispatch(const JsonValue& call, std::size_t index, MambaCall& kept) {
    switch (call["op"].one_of({"build", "build_for_cudagraph_capture", "update_block_table"})) {
      case 0:
        kept.batch = read_builder_batch(call);
        kept.num_accepted_tokens = read_optional_counts(call, "num_accepted_tokens");
        return build(kept);
      case 1:
        kept.batch = read_builder_batch(call);
        return builder_.build_for_cudagraph_capture(kept.batch.view());
      default:
        return update(call, index, kept);
    }
  }

  Result<Metadata> build(const MambaCall& call) {
    const auto counts = call.num_accepted_tokens.view();
    const auto split = split_mamba_batch_by_shape(
        call.batch.view(), base_of(builder_).reorder_batch_threshold(), counts);
    if (!split) return split.error();
    return builder_.build(
        {.common = call.batch.view(), .split = split.value(), .num_accepted_tokens = counts});
  }

  // Only the latest metadata can be updated: older metadata shares its arrays with it.
  Result<Metadata> update(const JsonValue& call, std::size_t index, MambaCall& kept) {
    const JsonValue from = call["metadata_from_call"];
    if (index == 0 || from.int64() != static_cast<std::int64_t>(index) - 1)
      from.fail("expected the number of the call before, " + std::to_string(index) +
                " - 1, found " + from.dump());
    kept.block_table = read_table(call["block_table"], call["block_table_shape"]);
    return builder_.update_block_table(latest_, kept.block_table.view());
  }

  Builder& builder_;
  std::list<MambaCall> kept_;
  Metadata latest_;
};

json init_json(const MambaMetadataBuilder& builder) {
  const auto table = builder.persistent_views().state_indices_tensor_d;
  return {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
          {"reorder_batch_threshold", builder.reorder_batch_threshold()},
          {"supports_update_block_table", builder.supports_update_block_table()},
          {"state_indices_tensor_d_shape", {table.rows, table.cols}}};
}

template <class Builder, class Metadata>
json recompute(const VectorCase& vector) {
  auto created = Builder::create(read_builder_config(vector.config, BuilderFamily::mamba));
  json results = json::array();
  if (!created) return {{"init", error_json(created.error())}, {"results", results}};
  Builder& builder = created.value();
  Calls<Builder, Metadata> calls(builder);
  for (std::size_t i = 0; i < vector.input.size(); ++i) {
    const auto metadata = calls.run(vector.input[i], i);
    results.push_back(metadata ? metadata_json(named_arrays(metadata.value()))
                               : error_json(metadata.error()));
    if (!metadata) break;  // the state after an exception is not part of the contract
  }
  return {{"init", init_json(base_of(builder))}, {"results", results}};
}

}  // namespace

json recompute_gdn_builder(const VectorCase& vector, const VectorKernels&) {
  auto created = GdnMetadataBuilder::create(read_builder_config(vector.config, BuilderFamily::gdn));
  json results = json::array();
  if (!created) return {{"init", error_json(created.error())}, {"results", results}};
  GdnMetadataBuilder& builder = created.value();
  for (const JsonValue& call : vector.input.elements()) {
    const auto result = run_call(builder, call);
    results.push_back(result ? result.value() : error_json(result.error()));
    if (!result) break;  // the state after an exception is not part of the contract
  }
  return {{"init",
           {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
            {"reorder_batch_threshold", builder.reorder_batch_threshold()}}},
          {"results", results}};
}

json recompute_mamba_builder(const VectorCase& vector, const VectorKernels&) {
  return recompute<MambaMetadataBuilder, MambaMetadata>(vector);
}

json recompute_mamba2_builder(const VectorCase& vector, const VectorKernels&) {
  return recompute<Mamba2MetadataBuilder, Mamba2Metadata>(vector);
}

}  // namespace hybridscope
