#include "tests/core/check/speaking_engine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/run/step_judge.h"
#include "tests/core/check/trace_mutations.h"

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

namespace {

SmallEngine drawn_engine(std::mt19937_64& random) {
  constexpr MambaType kTypes[] = {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention};
  constexpr MambaCacheMode kModes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                       MambaCacheMode::all};
  const MambaType type = kTypes[random() % 3];
  const auto drafts = static_cast<std::int32_t>(random() % 4);
  return {.mamba_type = type,
          .mode = kModes[random() % (type == MambaType::gdn_attention ? 2 : 3)],
          .num_speculative_tokens = type == MambaType::mamba1 ? 0 : drafts,
          .num_mamba_groups = static_cast<std::int32_t>(1 + random() % 2)};
}

}  // namespace

MutatedLanguageRun::MutatedLanguageRun(std::mt19937_64& random,
                                       const MakeLanguageMachine& make_machine, NumericForm form)
    : random_(random),
      speaking_(drawn_engine(random), small_language_model(), make_machine, form) {}

int MutatedLanguageRun::plant(StepTrace& trace) {
  const std::vector<TraceMutation> mutations = trace_mutations(trace, arrays_, random_);
  if (mutations.empty()) return 0;
  mutations[random_() % mutations.size()].plant();
  return 1;
}

int MutatedLanguageRun::run() {
  const std::uint64_t requests = 2 + random_() % 4;
  for (std::uint64_t i = 0; i < requests; ++i) {
    const auto tokens = static_cast<std::int32_t>(1 + random_() % 40);
    const std::int32_t shared = random_() % 2 == 0 ? 0 : tokens / 2;
    (void)speaking_.engine().add_request(
        request_of(tokens, static_cast<std::int32_t>(1 + random_() % 12), i + 1, shared));
  }
  int planted = 0;
  while (speaking_.has_steps() && !testing::Test::HasFailure()) {
    StepTrace trace = speaking_.engine().step();
    if (random_() % 2 == 0) planted += plant(trace);
    (void)speaking_.follow(trace);
    EXPECT_TRUE(language().status());
  }
  return planted;
}

}  // namespace hybridscope::test
