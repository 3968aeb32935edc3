#include "core/engine/engine.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/small_engine.h"

namespace hybridscope::test {
namespace {

TEST(Engine, OneRequestRunsFromPromptToItsLastToken) {
  CheckedEngine run(SmallEngine{});
  run.add(request_of(20, 5, 1));
  EXPECT_TRUE(run.finish());
  for (const Finding& f : run.findings()) ADD_FAILURE() << describe(f);
  EXPECT_EQ(run.num_steps(), 6);
}

TEST(Engine, RandomScenariosKeepEveryBlockRight) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; ++i) {
    SmallEngine small;
    const MambaCacheMode modes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                    MambaCacheMode::all};
    const MambaType types[] = {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention};
    small.mamba_type = types[random() % 3];
    small.mode = modes[random() % (small.mamba_type == MambaType::gdn_attention ? 2 : 3)];
    small.num_speculative_tokens = static_cast<int>(random() % 4);
    small.block_size = small.num_speculative_tokens + 1 + static_cast<int>(random() % 6);
    small.method = random() % 2 ? SpeculativeMethod::mtp : SpeculativeMethod::ngram;
    small.num_mamba_groups = 1 + static_cast<int>(random() % 3);
    small.num_blocks = 100 + static_cast<int>(random() % 100);
    small.max_num_batched_tokens = small.block_size + static_cast<int>(random() % 30);
    CheckedEngine run(small);
    const int requests = 1 + static_cast<int>(random() % 6);
    for (int r = 0; r < requests; ++r) {
      const int tokens = 1 + static_cast<int>(random() % 30);
      run.add(request_of(tokens, 1 + static_cast<int>(random() % 20),
                         static_cast<std::uint64_t>(r + 1),
                         static_cast<int>(random() % static_cast<std::uint64_t>(tokens + 1))));
      if (random() % 2) run.step();
    }
    EXPECT_TRUE(run.finish()) << i;
    int shown = 0;
    for (const Finding& f : run.findings())
      if (++shown < 4)
        ADD_FAILURE() << "scenario " << i << " mode " << static_cast<int>(small.mode) << " type "
                      << static_cast<int>(small.mamba_type) << " K " << small.num_speculative_tokens
                      << " B " << small.block_size << ": " << describe(f);
    if (shown) break;
  }
}

}  // namespace
}  // namespace hybridscope::test
