// What a test expects of a finding, and the comparison.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/check/finding.h"

namespace hybridscope::test {

// The write that a finding blames.
struct ExpectedCause {
  WriteKind kind = WriteKind::never;
  std::int32_t step = 0;
  std::int32_t request = -1;
  std::int32_t num_tokens = 0;
};

// Members that are left out are not compared.
struct ExpectedFinding {
  Rule rule = Rule::running_state_wrong;
  std::optional<std::int64_t> step{};
  std::optional<std::int32_t> request{};
  std::optional<std::int32_t> row{};
  std::optional<std::int32_t> group{};
  std::optional<ContentKind> content{};
  std::optional<std::int32_t> column{};
  std::optional<std::int32_t> block{};
  std::optional<std::int64_t> expected{};
  std::optional<std::int64_t> seen{};
  std::optional<std::string_view> detail{};
  std::optional<ExpectedCause> cause{};
  std::optional<std::int32_t> layer{};
  std::optional<std::int32_t> state{};
  std::optional<std::int64_t> element{};
};

bool matches(const Finding& finding, const ExpectedFinding& expected);

// One line, for a failing test.
std::string text(const Finding& finding);

// Some finding matches.
testing::AssertionResult found(std::span<const Finding> findings, const ExpectedFinding& expected);

// Every expectation is met by some finding, and no finding is left that none expects.
testing::AssertionResult found_only(std::span<const Finding> findings,
                                    std::initializer_list<ExpectedFinding> expected);

testing::AssertionResult nothing_found(std::span<const Finding> findings);

}  // namespace hybridscope::test
