// Property tests with rapidcheck and a fixed seed (HYBRIDSCOPE_SEED overrides it). A failing case
// is shrunk and printed with its seed. HYBRIDSCOPE_TIMES=10 draws ten times as many cases.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <unordered_map>

namespace hybridscope::test {

// Only inside a property. A number from `least` to `most`, both included; independent of
// rapidcheck's size.
inline std::int32_t draw(std::int32_t least, std::int32_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, most + 1));
}

// True with probability 1 / `times`.
inline bool one_in(std::int32_t times) { return draw(1, times) == times; }

// Prints nothing during the run, so that the result is printed only once.
class SilentListener : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// `count`, or as many times more as HYBRIDSCOPE_TIMES says.
inline std::size_t num_cases(std::size_t count) {
  return count * from_environment("HYBRIDSCOPE_TIMES", 1);
}

// Runs `property` `count` times; it draws values and asserts with RC_ASSERT.
template <class Property>
void check_property(int count, const Property& property) {
  rc::detail::TestParams params;
  params.maxSuccess = static_cast<int>(num_cases(static_cast<std::size_t>(count)));
  params.seed = from_environment("HYBRIDSCOPE_SEED", 20261);
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
