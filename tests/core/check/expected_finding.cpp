#include "tests/core/check/expected_finding.h"

#include <algorithm>

namespace hybridscope::test {
namespace {

template <class T, class U>
bool agrees(const std::optional<T>& expected, const U& seen) {
  return !expected || *expected == seen;
}

std::string listing(std::span<const Finding> findings) {
  constexpr std::size_t kShown = 12;
  std::string out = std::to_string(findings.size()) + " findings";
  for (std::size_t i = 0; i < std::min(findings.size(), kShown); ++i)
    out += "\n  " + text(findings[i]);
  return out;
}

std::string text(const ExpectedFinding& expected) {
  std::string out{rule_info(expected.rule).slug};
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) out += " " + std::string(name) + " " + std::to_string(*value);
  };
  add("step", expected.step);
  add("request", expected.request);
  add("row", expected.row);
  add("group", expected.group);
  add("column", expected.column);
  add("block", expected.block);
  add("expected", expected.expected);
  add("seen", expected.seen);
  add("layer", expected.layer);
  add("state", expected.state);
  add("element", expected.element);
  if (expected.detail) out += " (" + std::string(*expected.detail) + ")";
  if (expected.cause)
    out += " written in step " + std::to_string(expected.cause->step) + " by request " +
           std::to_string(expected.cause->request) + ", kind " +
           std::to_string(static_cast<int>(expected.cause->kind)) + ", " +
           std::to_string(expected.cause->num_tokens) + " tokens";
  return out;
}

}  // namespace

bool matches(const Finding& finding, const ExpectedFinding& expected) {
  const bool cause = !expected.cause || (finding.cause.kind == expected.cause->kind &&
                                         finding.cause.step == expected.cause->step &&
                                         finding.cause.request.value == expected.cause->request &&
                                         finding.cause.num_tokens == expected.cause->num_tokens);
  return cause && finding.rule == expected.rule && agrees(expected.step, finding.step) &&
         agrees(expected.request, finding.request.value) && agrees(expected.row, finding.row) &&
         agrees(expected.group, finding.group) && agrees(expected.content, finding.content) &&
         agrees(expected.column, finding.column) && agrees(expected.block, finding.block) &&
         agrees(expected.expected, finding.expected) && agrees(expected.seen, finding.seen) &&
         agrees(expected.detail, finding.detail) && agrees(expected.layer, finding.layer) &&
         agrees(expected.state, finding.state) && agrees(expected.element, finding.element);
}

std::string text(const Finding& finding) {
  return text(ExpectedFinding{
             .rule = finding.rule,
             .step = finding.step,
             .request = finding.request.value,
             .row = finding.row,
             .group = finding.group,
             .column = finding.column,
             .block = finding.block,
             .expected = finding.expected,
             .seen = finding.seen,
             .detail = finding.detail,
             .cause = ExpectedCause{finding.cause.kind, finding.cause.step,
                                    finding.cause.request.value, finding.cause.num_tokens},
             .layer = finding.layer,
             .state = finding.state,
             .element = finding.element}) +
         " content " + std::to_string(static_cast<int>(finding.content));
}

testing::AssertionResult found(std::span<const Finding> findings, const ExpectedFinding& expected) {
  if (std::ranges::any_of(findings, [&](const Finding& f) { return matches(f, expected); }))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "not found: " << text(expected) << "\namong " << listing(findings);
}

testing::AssertionResult found_only(std::span<const Finding> findings,
                                    std::initializer_list<ExpectedFinding> expected) {
  for (const ExpectedFinding& one : expected)
    if (auto result = found(findings, one); !result) return result;
  for (const Finding& finding : findings)
    if (std::ranges::none_of(expected, [&](const auto& one) { return matches(finding, one); }))
      return testing::AssertionFailure()
             << "not expected: " << text(finding) << "\namong " << listing(findings);
  return testing::AssertionSuccess();
}

testing::AssertionResult nothing_found(std::span<const Finding> findings) {
  return found_only(findings, {});
}

}  // namespace hybridscope::test
