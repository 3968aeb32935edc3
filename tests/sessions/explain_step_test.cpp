#include "sessions/explain_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "tests/sessions/explained_run.h"

namespace hybridscope {
namespace {
using test::ExplainedRun;
TEST(ExplainStep, Try) {
  ExplainedRun run(test::engine_config({.num_speculative_tokens = 1, .num_blocks = 16}));
  const RequestId a = run.add("A", 6, 6);
  std::cout << run.step();
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{a, 2}).ok());
  std::cout << run.step();
  std::cout << run.step();
}
}  // namespace
}  // namespace hybridscope
