// Who drafts on the host, and what becomes of asynchronous scheduling then.
#include <gtest/gtest.h>

#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::async_scheduling_test {
namespace {

EngineSettings with(std::initializer_list<std::pair<const char*, const char*>> texts) {
  EngineSettings settings;
  for (const auto& [path, text] : texts) {
    const std::string name = path;
    const std::size_t slash = name.find('/');
    const Setting* setting = slash == std::string::npos
                                 ? find_setting("", name)
                                 : find_setting(name.substr(0, slash), name.substr(slash + 1));
    EXPECT_NE(setting, nullptr) << name;
    const Status stored = set_setting_text(settings, *setting, text);
    EXPECT_TRUE(stored.ok()) << stored.error().message;
  }
  return settings;
}

std::string conflict(const EngineSettings& settings) {
  const auto found = find_setting_conflict(settings);
  return found ? found->setting + ": " + found->message : "";
}

EngineSettings ngram_with(std::initializer_list<std::pair<const char*, const char*>> more) {
  EngineSettings settings = with(more);
  settings.num_speculative_tokens = 2;
  settings.speculative_method = SpeculativeMethod::ngram;
  return settings;
}

TEST(Settings, AsynchronousSchedulingIsOnUnlessTheMethodDraftsOnTheHost) {
  EXPECT_EQ(resolved_async_scheduling({}), (AsyncChoice{true, AsyncReason::supported}));
  EXPECT_EQ(resolved_async_scheduling(with({{"speculative_config/num_speculative_tokens", "2"}})),
            (AsyncChoice{true, AsyncReason::supported}));
  EXPECT_EQ(resolved_async_scheduling(ngram_with({})),
            (AsyncChoice{false, AsyncReason::method_not_supported}));
  EXPECT_EQ(resolved_async_scheduling(with({{"async_scheduling", "false"}})),
            (AsyncChoice{false, AsyncReason::requested}));
}

TEST(Settings, NgramIsRefusedWithAsynchronousSchedulingOnRunnerV1) {
  EXPECT_EQ(conflict(ngram_with({{"async_scheduling", "true"}})),
            "async_scheduling: async_scheduling is on with method ngram on runner v1, which drafts "
            "on the host from tokens that have returned (expected false, method mtp, or runner v2, "
            "which has it from vllm-0.33.0 on)");
  EXPECT_EQ(conflict(ngram_with({})), "");
}

TEST(Settings, NgramRunsOnRunnerV2AsynchronousToo) {
  EXPECT_EQ(conflict(ngram_with({{"runner", "v2"}})), "");
  EXPECT_EQ(conflict(ngram_with({{"runner", "v2"}, {"async_scheduling", "true"}})), "");
  EXPECT_EQ(resolved_async_scheduling(ngram_with({{"runner", "v2"}})),
            (AsyncChoice{true, AsyncReason::supported}));
  EXPECT_EQ(conflict(ngram_with({{"engine", "vllm-0.33.0"}, {"async_scheduling", "true"}})), "");
  EXPECT_EQ(conflict(ngram_with({{"engine", "reference"}, {"runner", "v2"}})),
            "runner: runner is v2 with method ngram, which runner v2 of profile reference does not "
            "have (expected v1)");
}

// 0.32.0 drafts n-grams on runner V2 and schedules synchronously, 0.33.0 asynchronously.
TEST(Settings, NgramIsAsynchronousOnRunnerV2OfTheNewestReleaseOnly) {
  const auto chosen = [](const char* engine) {
    return resolved_async_scheduling(ngram_with({{"engine", engine}}));
  };
  EXPECT_EQ(chosen("vllm-0.31.0"), (AsyncChoice{false, AsyncReason::method_not_supported}));
  EXPECT_EQ(chosen("vllm-0.32.0"), (AsyncChoice{false, AsyncReason::method_not_supported}));
  EXPECT_EQ(chosen("vllm-0.33.0"), (AsyncChoice{true, AsyncReason::supported}));
}

}  // namespace
}  // namespace hybridscope::async_scheduling_test
