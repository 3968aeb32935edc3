#include "tests/core/check/speaking_engine.h"

#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "sessions/run/step_judge.h"

namespace hybridscope::test {

SpeakingEngine::SpeakingEngine(const SmallEngine& small, HybridModel model,
                               const MakeLanguageMachine& make_machine, NumericForm form)
    : model_(std::make_unique<const HybridModel>(std::move(model))),
      engine_(Engine::create(engine_config(small)).value()),
      checker_(StepChecker::create(make_check_config(engine_.config())).value()) {
  const EngineConfig& config = engine_.config();
  language_ = LanguageRun::create(*model_,
                                  {.kv_cache_config = config.kv_cache_config,
                                   .mamba_cache_mode = config.mamba_cache_mode,
                                   .num_speculative_tokens = config.num_speculative_tokens,
                                   .form = form,
                                   .num_likely = 2},
                                  make_machine)
                  .value();
  checker_.log_ops();
}

const LanguageStep& SpeakingEngine::follow(const StepTrace& trace) {
  (void)checker_.check(trace);
  return language_->follow(trace, checker_.ops(),
                           [this](RequestId request, std::int32_t position) -> TokenContent {
                             try {
                               return engine_.token(request, position);
                             } catch (const ContractViolation&) {  // a changed request
                               return 0;
                             }
                           });
}

}  // namespace hybridscope::test
