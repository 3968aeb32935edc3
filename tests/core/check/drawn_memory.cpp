#include "tests/core/check/drawn_memory.h"

#include <numeric>
#include <variant>
#include <vector>

#include "sessions/run/step_judge.h"

namespace hybridscope::test {

std::string mode_name(MambaCacheMode mode) {
  return mode == MambaCacheMode::none ? "none" : mode == MambaCacheMode::all ? "all" : "align";
}

DrawnMemory draw_memory(const EngineConfig& engine, const Draw& in) {
  DrawnMemory drawn{.options = {}, .config = engine.kv_cache_config};
  drawn.options.conv_kernel = engine.conv_kernel;
  drawn.options.conv_state_layout = in(0, 1) == 0 ? ConvStateLayout::SD : ConvStateLayout::DS;
  const Dtype dtypes[] = {Dtype::bfloat16, Dtype::float32, Dtype::float16};
  const std::int64_t width = engine.conv_kernel - 1 + engine.num_speculative_tokens;
  const std::int64_t dim = in(1, 6);
  std::vector<std::int64_t> conv = {width, dim};
  if (drawn.options.conv_state_layout == ConvStateLayout::DS) conv = {dim, width};
  const Dtype conv_dtype = dtypes[in(0, 2)];
  const StateTensorSpec temporal{StateKind::temporal, {2, in(2, 5)}, dtypes[in(0, 2)]};
  const std::int64_t padding = 4 * in(0, 3);
  int layer = 0;
  for (KVCacheGroup& group : drawn.config.groups) {
    group.layers.resize(static_cast<std::size_t>(in(1, 3)));
    std::iota(group.layers.begin(), group.layers.end(), layer);
    layer += 3;
    if (!group.is_mamba()) continue;
    auto& spec = std::get<MambaSpec>(group.spec);
    spec.states = {{StateKind::conv, conv, conv_dtype}, temporal};
    // The temporal state begins behind the conv state: at a multiple of its element size.
    if (width * dim % 2 != 0) spec.states[0].dtype = spec.states[1].dtype = Dtype::float32;
    std::int64_t bytes = padding;
    for (const StateTensorSpec& state : spec.states) {
      std::int64_t size = state.dtype == Dtype::float32 ? 4 : 2;
      for (const std::int64_t dimension : state.shape) size *= dimension;
      bytes += size;
    }
    spec.page_size_bytes = (bytes + 3) / 4 * 4;
  }
  return drawn;
}

CheckConfig check_config_of(const EngineConfig& engine, const DrawnMemory& memory) {
  CheckConfig config = make_check_config(engine);
  config.kv_cache_config = memory.config;
  return config;
}

}  // namespace hybridscope::test
