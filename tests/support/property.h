// Property tests by rapidcheck with a fixed seed (HYBRIDSCOPE_SEED sets another): what fails is
// made as small as possible and printed with the seed.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <unordered_map>

namespace hybridscope::test {

// Inside a property only. From `least` to `most`, both included; does not grow with rapidcheck's
// size.
inline std::int32_t draw(std::int32_t least, std::int32_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, most + 1));
}

// True once in `times`.
inline bool one_in(std::int32_t times) { return draw(1, times) == times; }

// Says nothing: the result is printed once.
class SilentListener : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

// Runs `property`, which draws and asserts with RC_ASSERT, `count` times.
template <class Property>
void check_property(int count, const Property& property) {
  rc::detail::TestParams params;
  params.maxSuccess = count;
  const char* seed = std::getenv("HYBRIDSCOPE_SEED");
  params.seed = seed == nullptr ? 20261 : std::strtoull(seed, nullptr, 10);
  SilentListener listener;
  const auto result =
      rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params, listener,
                                std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::ostringstream out;
  rc::detail::printResultMessage(result, out);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>())
      << "seed " << params.seed << ": " << out.str();
}

}  // namespace hybridscope::test
