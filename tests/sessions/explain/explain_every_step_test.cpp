#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/engine/policy_table.h"
#include "sessions/text/text_page.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::explain_every_step_test {
namespace {

using test::ExplainedRun;
using test::SmallEngine;

struct Case {
  const char* name;
  SmallEngine engine;
  bool async_scheduling = false;
};

class ExplainEveryStep : public ::testing::TestWithParam<Case> {};

void expect_readable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(text_width(line), kPageColumns) << line;
    EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST_P(ExplainEveryStep, FitsThePageInEveryStep) {
  EngineConfig config = test::engine_config(GetParam().engine);
  config.async_scheduling = GetParam().async_scheduling;
  ExplainedRun run(config);
  run.add("A request with a name as long as names of requests can ever get", 30, 30, 24);
  run.add("B", 1, 12);
  for (std::int64_t step = 1; step <= 60 && run.engine().num_unfinished() > 0; ++step) {
    if (step == 4) run.add("C", 25, 9, 24);
    if (step == 5) {
      run.add("D", 40, 20, 24);
      ASSERT_TRUE(run.engine().apply(SetStepBudget{5}).ok());
    }
    const std::string text = run.step();
    expect_readable(text);
    EXPECT_TRUE(text.starts_with("Step " + std::to_string(step) + " at "));
    EXPECT_TRUE(text.ends_with("\n"));
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(run.engine().num_unfinished(), 0);
}

Case cases[] = {
    {"AlignMamba2", {.num_speculative_tokens = 2, .num_blocks = 40, .num_mamba_groups = 3}},
    {"AlignGdn", {.mamba_type = MambaType::gdn_attention, .num_speculative_tokens = 3}},
    {"AlignNgram",
     {.num_speculative_tokens = 2, .method = SpeculativeMethod::ngram, .num_blocks = 40}},
    {"AlignWithoutDrafts", {.mamba_type = MambaType::mamba1, .num_blocks = 24}},
    {"AsyncAlign", {.num_speculative_tokens = 2, .num_blocks = 40}, true},
    {"AsyncWithoutDrafts", {.num_blocks = 40}, true},
    {"AllMamba2", {.mode = MambaCacheMode::all, .num_speculative_tokens = 2}},
    {"AllWithoutDrafts", {.mode = MambaCacheMode::all, .num_mamba_groups = 2}},
    {"NoneGdn",
     {.mamba_type = MambaType::gdn_attention,
      .mode = MambaCacheMode::none,
      .num_speculative_tokens = 1}},
    {"ReferenceAlign",
     {.num_speculative_tokens = 3, .num_blocks = 40, .policies = reference_policies()}},
    {"ReferenceGdnNgram",
     {.mamba_type = MambaType::gdn_attention,
      .num_speculative_tokens = 2,
      .method = SpeculativeMethod::ngram,
      .policies = reference_policies()}},
    {"ReferenceAll",
     {.mode = MambaCacheMode::all, .num_speculative_tokens = 2, .policies = reference_policies()}},
};

INSTANTIATE_TEST_SUITE_P(Engines, ExplainEveryStep, ::testing::ValuesIn(cases),
                         [](const auto& example) { return example.param.name; });

}  // namespace
}  // namespace hybridscope::explain_every_step_test
