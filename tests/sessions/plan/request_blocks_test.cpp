// The number of requests that fit is held against the real engine with the settings as they are: so
// many run together without waiting or preemption, and one more does not.
#include "sessions/plan/request_blocks.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <string>

#include "core/engine/engine.h"
#include "core/model/model_presets.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings_table.h"
#include "tests/support/property.h"

namespace hybridscope::request_blocks_test {
namespace {

using test::draw;
using test::one_in;

AddRequest request_number(const RequestShape& shape, std::uint64_t number) {
  AddRequest request;
  request.name = fmt::format("q{}", number);
  request.max_tokens = shape.output;
  request.key = number;
  if (shape.shared > 0)
    request.prompt.push_back({.content = 77, .first = 0, .length = shape.shared});
  if (shape.prompt > shape.shared)
    request.prompt.push_back(
        {.content = 1000 + number, .first = shape.shared, .length = shape.prompt - shape.shared});
  return request;
}

void run_to_the_end(Engine& engine) {
  while (engine.num_unfinished() > 0 || engine.has_frame_in_flight()) engine.step();
  engine.step();
}

// Do so many requests that start in one step ever wait or lose their blocks?
bool run_freely(Engine engine, const RequestShape& shape, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto added =
        engine.add_request(request_number(shape, 50 + static_cast<std::uint64_t>(i)));
    if (!added.ok()) return false;
  }
  while (engine.num_unfinished() > 0) {
    const StepTrace& trace = engine.step();
    if (trace.num_waiting > 0 || !trace.preempted.empty()) return false;
  }
  return true;
}

struct Drawn {
  EngineConfig config;
  RequestShape shape;
  std::string words;
};

EngineSettings drawn_settings() {
  EngineSettings settings;
  const char* engines[] = {"safe",        "reference",   "vllm-0.24.0",
                           "vllm-0.28.0", "vllm-0.30.0", "vllm-0.33.0"};
  settings.engine = parse_engine_profile(engines[draw(0, 5)]);
  const auto mode = static_cast<MambaCacheMode>(draw(0, 2));
  if (!one_in(3)) settings.mamba_cache_mode = mode;
  settings.enable_prefix_caching = mode != MambaCacheMode::none || one_in(2);
  const std::int32_t block = 8 << draw(0, 2);
  settings.block_size = block;
  if (one_in(3)) {
    settings.num_speculative_tokens = draw(1, 3);
    settings.speculative_method = SpeculativeMethod::mtp;
  }
  settings.async_scheduling = one_in(2);
  if (one_in(3)) settings.prefix_cache_retention_interval = block * draw(0, 2);
  if (one_in(4)) settings.prefix_match_unit = 4;
  if (one_in(4)) settings.scheduler_reserve_full_isl = false;
  settings.num_gpu_blocks_override = draw(40, 400);
  settings.max_model_len = 512;
  settings.max_num_seqs = 400;
  settings.max_num_batched_tokens = 65536;
  settings.cudagraph_mode = CUDAGraphMode::none;
  settings.acceptance_rate = 0.0;
  return settings;
}

Drawn draw_case(bool shares) {
  const char* models[] = {"tiny-mamba2", "tiny-mamba2-groups", "tiny-gdn"};
  const std::string model = models[draw(0, 2)];
  EngineSettings settings = drawn_settings();
  if (!shares && one_in(3)) settings.watermark = draw(1, 30) / 100.0;
  const auto setup = make_engine_setup(model, settings);
  RC_PRE(setup.ok());
  Drawn drawn{.config = setup.value().config, .shape = {}, .words = {}};
  drawn.shape = {.prompt = draw(1, 120), .output = draw(1, 60), .shared = 0};
  if (shares) drawn.shape.shared = draw(1, drawn.shape.prompt);
  drawn.words = fmt::format("{} {} K {} block {} pool {} prompt {} output {} shared {} async {}",
                            model, engine_profile_name(*settings.engine),
                            drawn.config.num_speculative_tokens, drawn.config.block_size,
                            drawn.config.kv_cache_config.num_blocks, drawn.shape.prompt,
                            drawn.shape.output, drawn.shape.shared, drawn.config.async_scheduling);
  return drawn;
}

Engine warmed(const EngineConfig& config, const RequestShape& shape, WarmCache warm) {
  Engine engine = Engine::create(config).value();
  RequestShape before = shape;
  if (warm == WarmCache::shared_prompt) before = {shape.shared, 1, shape.shared};
  const int times = warm == WarmCache::nothing ? 0 : warm == WarmCache::whole_request ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const auto added = engine.add_request(request_number(before, static_cast<std::uint64_t>(i)));
    RC_PRE(added.ok());
    run_to_the_end(engine);
  }
  return engine;
}

void check_count(const Drawn& drawn, WarmCache warm) {
  const auto held = measure_request_blocks(drawn.config, drawn.shape, warm);
  RC_PRE(held.ok());  // a retention interval that mode none does not take
  const std::int64_t count = try_requests_at_once(drawn.config, drawn.shape, held.value());
  RC_PRE(count < 390);
  const Engine engine = warmed(drawn.config, drawn.shape, warm);
  RC_LOG() << drawn.words << ": " << count << ", " << held.value().most.own << " each, "
           << held.value().most.shared << " together, " << held.value().needed_to_be_admitted
           << " to be admitted, hit " << held.value().num_hit_tokens << "\n";
  if (count > 0) RC_ASSERT(run_freely(engine.clone(), drawn.shape, count));
  RC_ASSERT(!run_freely(engine.clone(), drawn.shape, count + 1));
}

TEST(RequestBlocks, SoManyRunWithoutWaitingAndOneMoreDoesNot) {
  test::check_property(90, [] { check_count(draw_case(false), WarmCache::nothing); });
}

TEST(RequestBlocks, SoManyThatShareAPrefixRunWithoutWaitingAndOneMoreDoesNot) {
  test::check_property(60, [] {
    check_count(draw_case(true), one_in(2) ? WarmCache::whole_request : WarmCache::shared_prompt);
  });
}

}  // namespace
}  // namespace hybridscope::request_blocks_test
