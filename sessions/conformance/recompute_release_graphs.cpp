// Which CUDA graphs installed releases of vLLM capture, and which one a batch takes.
#include <nlohmann/json.hpp>

#include "core/engine/cudagraph_setup.h"
#include "core/engine/releases.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

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
  engine.runner = config["runner"].one_of({"v1", "v2"}) == 0 ? ModelRunner::v1 : ModelRunner::v2;
  engine.policies = release_policies(*vector.release, engine.runner);
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
