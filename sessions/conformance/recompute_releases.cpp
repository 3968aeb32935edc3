#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/releases.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_setup.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// What installed releases of vLLM decided.

namespace {

constexpr std::int32_t kMaxSplitTokens = 1 << 26;

std::int32_t tokens(const JsonValue& object, std::string_view name, std::int32_t least = 0) {
  return object[name].int32({least, kMaxSplitTokens});
}

AlignedSplitSettings read_split_settings(const JsonValue& config, const PolicySet& policies) {
  const auto alignment = config.find_non_null("prefill_checkpoint_alignment");
  const std::int32_t budget = tokens(config, "max_num_scheduled_tokens");
  const std::int32_t threshold = tokens(config, "long_prefill_token_threshold");
  return {.block_size = tokens(config, "block_size", 1),
          .hash_block_size = tokens(config, "hash_block_size", 1),
          .scheduler_block_size = tokens(config, "scheduler_block_size", 1),
          .fine_grained_hits = config["fine"].boolean(),
          .use_eagle = config["eagle"].boolean(),
          .eagle_block_drop = config["eagle_drop"].boolean(),
          .num_hash_lookahead_tokens = tokens(config, "num_hash_lookahead_tokens"),
          .has_prefill_checkpoint_blocks = config["has_prefill_checkpoint_blocks"].boolean(),
          .prefill_checkpoint_alignment = alignment ? alignment->int32({1, kMaxSplitTokens}) : 0,
          .shared_prefix_checkpoint = config["shared_prefix_checkpoint"].boolean(),
          .checkpoint_start = policies.get<CheckpointStart>(),
          .max_tokens_a_step = threshold > 0 ? std::min(budget, threshold) : budget};
}

}  // namespace

nlohmann::json recompute_release_split(const VectorCase& vector, const VectorKernels&) {
  const PolicySet policies = vector.policies_of(ModelRunner::v1);
  return mamba_block_aligned_split(
      policies.get<AlignedSplit>(), read_split_settings(vector.config, policies),
      {.num_computed_tokens = tokens(vector.input, "num_computed_tokens"),
       .num_prompt_tokens = tokens(vector.input, "num_prompt_tokens"),
       .num_tokens = tokens(vector.input, "num_tokens"),
       .num_new_tokens = tokens(vector.input, "num_new_tokens"),
       .num_new_local_computed_tokens = tokens(vector.input, "num_new_local_computed_tokens"),
       .shared_prefix_boundary = tokens(vector.input, "junction")});
}

// release_builders: all calls of a case on one builder of a release.

namespace {

using nlohmann::json;

Result<GdnMetadata> build_release(GdnMetadataBuilder& builder, const PolicySet& policies,
                                  BuilderCall& call) {
  return build_gdn(builder, policies, call);
}

template <class Builder>
Result<typename Builder::Metadata> build_release(Builder& builder, const PolicySet& policies,
                                                 BuilderCall& call) {
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

template <class Builder>
json recompute_on(const VectorCase& vector) {
  const PolicySet policies = vector.policies_of(read_runner(vector.config));
  auto created = Builder::create(read_release_builder_config(vector.config, policies), policies);
  if (!created) return {{"init", error_json(created.error())}, {"results", json::array()}};
  Builder& builder = created.value();
  return {{"init",
           {{"reorder_batch_threshold", builder.reorder_batch_threshold()},
            {"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()}}},
          {"results", answer_until_error(vector.input, [&](const JsonValue& asked) {
             BuilderCall call(read_release_builder_batch(asked), asked);
             const auto metadata = build_release(builder, policies, call);
             return metadata ? release_answer(metadata.value()) : error_json(metadata.error());
           })}};
}

}  // namespace

json recompute_release_builders(const VectorCase& vector, const VectorKernels&) {
  switch (vector.config["class"].one_of({"gdn", "mamba1", "mamba2"})) {
    case 0: return recompute_on<GdnMetadataBuilder>(vector);
    case 1: return recompute_on<MambaMetadataBuilder>(vector);
    default: return recompute_on<Mamba2MetadataBuilder>(vector);
  }
}

// Which CUDA graphs installed releases of vLLM capture, and which one a batch takes.

namespace {

constexpr std::int32_t kMostGraphTokens = 1 << 20;
constexpr std::int32_t kMostGraphDrafts = 64;
// In the order of CUDAGraphMode.
const std::initializer_list<std::string_view> kGraphModes = {
    "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"};

std::string_view name_of(CUDAGraphMode mode) {
  return kGraphModes.begin()[static_cast<std::size_t>(mode)];
}

// The vectors are of an engine with one Mamba group.
EngineConfig read_engine_config(const VectorCase& vector) {
  const JsonValue& config = vector.config;
  EngineConfig engine;
  engine.runner = read_runner(config);
  engine.policies = vector.policies_of(engine.runner);
  engine.cudagraph_mode = static_cast<CUDAGraphMode>(config["cudagraph_mode"].one_of(kGraphModes));
  engine.num_speculative_tokens = config["num_spec"].int32({0, kMostGraphDrafts});
  engine.max_num_seqs = config["max_num_seqs"].int32({1, kMostGraphTokens});
  engine.max_num_batched_tokens = config["max_num_batched_tokens"].int32({1, kMostGraphTokens});
  if (const auto largest = config.find_non_null("max_cudagraph_capture_size"))
    engine.max_cudagraph_capture_size = largest->int32({1, kMostGraphTokens});
  if (const auto sizes = config.find_non_null("cudagraph_capture_sizes"))
    for (const JsonValue& size : sizes->elements())
      engine.cudagraph_capture_sizes.push_back(size.int32({1, kMostGraphTokens}));
  engine.kv_cache_config.num_blocks = kMostGraphTokens;
  engine.kv_cache_config.groups = {{.spec = MambaSpec{}, .layers = {0}}};
  return engine;
}

Result<CudagraphDispatch> dispatch(const EngineConfig& engine,
                                   const CudagraphDispatchConfig& graphs, const JsonValue& call) {
  const std::int32_t num_tokens = call["num_tokens"].int32({0, kMostGraphTokens});
  const std::int32_t num_reqs = call["num_reqs"].int32({0, kMostGraphTokens});
  const bool uniform = call["uniform"].int32({0, 1}) == 1;
  if (engine.runner == ModelRunner::v1)
    return dispatch_cudagraph(
        graphs, {.num_tokens = num_tokens, .num_reqs = num_reqs, .uniform_decode = uniform});
  CudagraphDispatchInputV2 input{.num_tokens = num_tokens, .num_reqs = num_reqs};
  if (uniform) input.uniform_token_count = 1 + engine.num_speculative_tokens;
  return dispatch_cudagraph_v2(graphs, input);
}

}  // namespace

json recompute_release_graphs(const VectorCase& vector, const VectorKernels&) {
  const EngineConfig engine = read_engine_config(vector);
  const auto resolved = resolve_cudagraphs(engine);
  json results = json::array();
  if (!resolved.ok()) return {{"init", error_json(resolved.error())}, {"results", results}};
  const CudagraphDispatchConfig graphs = captured_graphs(engine, resolved.value());
  for (const JsonValue& call : vector.input.elements()) {
    const auto graph = dispatch(engine, graphs, call);
    results.push_back(graph.ok() ? json{{"mode", name_of(graph.value().runtime_mode)},
                                        {"num_tokens_padded", graph.value().num_tokens_padded},
                                        {"num_reqs_padded", graph.value().num_reqs_padded}}
                                 : error_json(graph.error()));
  }
  return {{"init",
           {{"cudagraph_mode", name_of(resolved.value().cudagraph_mode)},
            {"capture_sizes", resolved.value().capture_sizes}}},
          {"results", results}};
}

}  // namespace hybridscope
