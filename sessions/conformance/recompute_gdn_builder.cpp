// gdn_builder: all calls of a case on one builder.
#include "core/metadata/gdn_builder.h"

#include "sessions/conformance/builder_json.h"
#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// Arrays of one call; metadata points into them.
struct Call {
  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  OptionalCounts num_decode_draft_tokens;
  std::vector<std::uint8_t> masks;
};

Result<GdnMetadata> build(GdnMetadataBuilder& builder, Call& call) {
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

Result<json> run_call(GdnMetadataBuilder& builder, const VectorValue& asked) {
  Call call;
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

}  // namespace

json recompute_gdn_builder(const VectorCase& vector, ExecuteCopies) {
  auto created = GdnMetadataBuilder::create(read_builder_config(vector.config, BuilderFamily::gdn));
  json results = json::array();
  if (!created) return {{"init", error_json(created.error())}, {"results", results}};
  GdnMetadataBuilder& builder = created.value();
  for (const VectorValue& call : vector.input.elements()) {
    const auto result = run_call(builder, call);
    results.push_back(result ? result.value() : error_json(result.error()));
    if (!result) break;  // the state after an exception is not part of the contract
  }
  return {{"init",
           {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
            {"reorder_batch_threshold", builder.reorder_batch_threshold()}}},
          {"results", results}};
}

}  // namespace hybridscope
