#include "tests/support/small_engine.h"

#include <algorithm>

#include "core/base/result.h"
#include "sessions/run/step_judge.h"

namespace hybridscope::test {

EngineConfig engine_config(const SmallEngine& small) {
  EngineConfig config;
  const bool none = small.mode == MambaCacheMode::none;
  const std::int32_t state_len = 3 + small.num_speculative_tokens;
  MambaSpec mamba{.block_size = none ? small.max_model_len : small.block_size,
                  .states = {{StateKind::conv, {state_len, 8}, Dtype::bfloat16},
                             {StateKind::temporal, {2, 4, 4}, Dtype::float32}},
                  .mamba_type = small.mamba_type,
                  .mamba_cache_mode = small.mode,
                  .num_speculative_blocks = small.num_speculative_tokens,
                  .page_size_bytes = 4096};
  config.kv_cache_config.num_blocks = small.num_blocks;
  for (std::int32_t g = 0; g < small.num_attention_groups; ++g)
    config.kv_cache_config.groups.push_back(
        {.spec = FullAttentionSpec{small.block_size, 4096}, .layers = {g}});
  for (std::int32_t g = 0; g < small.num_mamba_groups; ++g)
    config.kv_cache_config.groups.push_back(
        {.spec = mamba, .layers = {small.num_attention_groups + g}});
  config.mamba_cache_mode = small.mode;
  config.block_size = config.scheduler_block_size = config.hash_block_size = small.block_size;
  config.chunk_size = small.block_size;
  config.max_model_len = small.max_model_len;
  config.max_num_seqs = std::min(small.max_num_seqs, small.num_blocks);
  config.max_num_batched_tokens = small.max_num_batched_tokens;
  config.enable_prefix_caching = !none;
  config.num_speculative_tokens = small.num_speculative_tokens;
  config.speculative_method = small.num_speculative_tokens == 0         ? SpeculativeMethod::none
                              : small.method == SpeculativeMethod::none ? SpeculativeMethod::mtp
                                                                        : small.method;
  config.policies = small.policies;
  return config;
}

AddRequest request_of(std::int32_t tokens, std::int32_t max_tokens, std::uint64_t text,
                      std::int32_t shared) {
  AddRequest request;
  request.name = "r" + std::to_string(text);
  if (shared > 0) request.prompt.push_back({.content = 0, .first = 0, .length = shared});
  if (tokens > shared)
    request.prompt.push_back({.content = text, .first = shared, .length = tokens - shared});
  request.max_tokens = max_tokens;
  request.key = text;
  return request;
}

CheckedEngine::CheckedEngine(const SmallEngine& small, CheckScope scope)
    : CheckedEngine(engine_config(small), scope) {}

CheckedEngine::CheckedEngine(const EngineConfig& config, CheckScope scope)
    : engine_(Engine::create(config).value()),
      checker_(StepChecker::create(make_check_config(config)).value()),
      scope_(scope) {}

void CheckedEngine::keep_state_in(StateBackend& backend) {
  checker_.log_ops();
  twin_ = StateMirror::create(make_check_config(engine_.config()), backend).value();
}

void CheckedEngine::keep(std::span<const Finding> findings) {
  for (const Finding& finding : findings)
    (rule_info(finding.rule).severity == Severity::error ? findings_ : warnings_)
        .push_back(finding);
}

RequestId CheckedEngine::add(const AddRequest& request) {
  return engine_.add_request(request).value();
}

const StepTrace& CheckedEngine::step(const std::function<void(StepTrace&)>& plant) {
  const StepTrace* trace = &engine_.step();
  if (plant) {
    planted_ = *trace;
    plant(planted_);
    trace = &planted_;
  }
  keep(checker_.check(*trace, scope_));
  if (twin_) keep(twin_->follow(checker_, trace->step, scope_).value());
  ++num_steps_;
  return *trace;
}

bool CheckedEngine::finish(std::int32_t limit) {
  for (std::int32_t i = 0; i < limit && engine_.num_unfinished() > 0; ++i) step();
  return engine_.num_unfinished() == 0;
}

std::string describe(const Finding& finding) {
  return std::string(rule_info(finding.rule).slug) + " step " + std::to_string(finding.step) +
         " request " + std::to_string(finding.request.value) + " row " +
         std::to_string(finding.row) + " group " + std::to_string(finding.group) + " column " +
         std::to_string(finding.column) + " block " + std::to_string(finding.block) + " expected " +
         std::to_string(finding.expected) + " seen " + std::to_string(finding.seen) + " (" +
         std::string(finding.detail) + ") content " +
         std::to_string(static_cast<int>(finding.content)) + " written by step " +
         std::to_string(finding.cause.step) + " kind " +
         std::to_string(static_cast<int>(finding.cause.kind)) + " request " +
         std::to_string(finding.cause.request.value);
}

}  // namespace hybridscope::test
