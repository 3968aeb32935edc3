#include "tests/core/check/mutated_language_run.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "sessions/run/check_setup.h"
#include "tests/core/check/trace_mutations.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::test {
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
      model_(small_language_model()),
      engine_(Engine::create(engine_config(drawn_engine(random))).value()),
      checker_(StepChecker::create(make_check_config(engine_.config())).value()) {
  const EngineConfig& config = engine_.config();
  language_ = LanguageRun::create(model_,
                                  {.kv_cache_config = config.kv_cache_config,
                                   .mamba_cache_mode = config.mamba_cache_mode,
                                   .num_speculative_tokens = config.num_speculative_tokens,
                                   .form = form},
                                  make_machine)
                  .value();
  checker_.log_ops();
}

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
    (void)engine_.add_request(
        request_of(tokens, static_cast<std::int32_t>(1 + random_() % 12), i + 1, shared));
  }
  int planted = 0;
  while ((engine_.num_unfinished() > 0 || engine_.has_frame_in_flight()) &&
         !testing::Test::HasFailure()) {
    StepTrace trace = engine_.step();
    if (random_() % 2 == 0) planted += plant(trace);
    (void)checker_.check(trace);
    (void)language_->follow(trace, checker_.ops(),
                            [this](RequestId request, std::int32_t position) -> TokenContent {
                              try {
                                return engine_.token(request, position);
                              } catch (const ContractViolation&) {  // a changed request
                                return 0;
                              }
                            });
    EXPECT_TRUE(language_->status());
  }
  return planted;
}

}  // namespace hybridscope::test
