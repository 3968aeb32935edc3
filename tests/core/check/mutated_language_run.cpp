#include "tests/core/check/mutated_language_run.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/core/check/trace_mutations.h"

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
