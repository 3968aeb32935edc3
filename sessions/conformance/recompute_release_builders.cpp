// release_builders: all calls of a case on one builder of a release.
#include <string>
#include <utility>
#include <vector>

#include "core/engine/releases.h"
#include "core/engine/row_inputs_policies.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/gdn_builder_policies.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/mamba_builder_policies.h"
#include "sessions/conformance/builder_json.h"
#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// The arrays of one call; its metadata points into them.
struct ReleaseCall {
  explicit ReleaseCall(const JsonValue& call)
      : batch(read_release_builder_batch(call)),
        num_accepted_tokens(read_optional_counts(call, "num_accepted_tokens")),
        num_decode_draft_tokens(read_optional_counts(call, "num_decode_draft_tokens")),
        flags(static_cast<std::size_t>(batch.num_reqs)) {}

  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  OptionalCounts num_decode_draft_tokens;
  std::vector<std::uint8_t> flags;  // [num_reqs]
};

Result<GdnMetadata> build_release(GdnMetadataBuilder& builder, const PolicySet& policies,
                                  ReleaseCall& call) {
  const CommonAttentionMetadata common = call.batch.view();
  const auto classes = classify_gdn_rows_by_drafts(
      common,
      {.num_spec = builder.config().num_spec,
       .num_decode_draft_tokens = call.num_decode_draft_tokens.view(),
       .zero_drafts =
           policies.is(NoDraftStep::zero_drafts) ? ZeroDrafts::spec_rows : ZeroDrafts::no_spec_rows,
       .batch = policies.get<GdnBatch>()},
      call.flags);
  if (!classes) return classes.error();
  return builder.build({.common = common,
                        .num_accepted_tokens = call.num_accepted_tokens.view(),
                        .row_classes = classes.value(),
                        .policies = policies});
}

template <class Builder>
Result<typename Builder::Metadata> build_release(Builder& builder, const PolicySet& policies,
                                                 ReleaseCall& call) {
  MambaBuildInputs inputs{.common = call.batch.view(), .policies = policies};
  TensorView<std::int32_t> drafts;
  if (builder.takes_counts(policies)) {
    inputs.num_accepted_tokens = call.num_accepted_tokens.view();
    drafts = call.num_decode_draft_tokens.view();
  }
  const auto split =
      split_mamba_batch_by_prefilling(inputs.common,
                                      {.reorder_batch_threshold = builder.reorder_batch_threshold(),
                                       .num_accepted_tokens = inputs.num_accepted_tokens,
                                       .num_decode_draft_tokens = drafts,
                                       .padded_row_class = policies.get<PaddedRowClass>()},
                                      call.flags);
  if (!split) return split.error();
  inputs.split = split.value();
  return builder.build(inputs);
}

json release_answer(const BuilderMetadata& metadata) {
  json answer = release_metadata_json(named_arrays(metadata));
  // The reference has the offsets twice, on the device and on the host.
  for (const char* name : {"checkpoint", "checkpoint_meta"})
    if (answer["metadata"].contains(name))
      answer["metadata"][name]["offsets"] = answer["metadata"][name]["checkpoint_offsets"];
  return answer;
}

std::int32_t max_bs(const Mamba2MetadataBuilder& builder) {
  return builder.base().decode_cudagraph_max_bs();
}
template <class Builder>
std::int32_t max_bs(const Builder& builder) {
  return builder.decode_cudagraph_max_bs();
}

template <class Builder>
json recompute_on(const VectorCase& vector) {
  const PolicySet policies = release_policies(
      *vector.release,
      vector.config["runner"].one_of({"v1", "v2"}) == 0 ? ModelRunner::v1 : ModelRunner::v2);
  auto created = Builder::create(read_release_builder_config(vector.config, policies), policies);
  json results = json::array();
  if (!created) return {{"init", error_json(created.error())}, {"results", results}};
  Builder& builder = created.value();
  for (const JsonValue& asked : vector.input.elements()) {
    ReleaseCall call(asked);
    const auto metadata = build_release(builder, policies, call);
    results.push_back(metadata ? release_answer(metadata.value()) : error_json(metadata.error()));
    if (!metadata) break;  // the state after an exception is not part of the contract
  }
  return {{"init",
           {{"reorder_batch_threshold", builder.reorder_batch_threshold()},
            {"decode_cudagraph_max_bs", max_bs(builder)}}},
          {"results", results}};
}

}  // namespace

json recompute_release_builders(const VectorCase& vector, const VectorKernels&) {
  switch (vector.config["class"].one_of({"gdn", "mamba1", "mamba2"})) {
    case 0:
      return recompute_on<GdnMetadataBuilder>(vector);
    case 1:
      return recompute_on<MambaMetadataBuilder>(vector);
    default:
      return recompute_on<Mamba2MetadataBuilder>(vector);
  }
}

}  // namespace hybridscope
