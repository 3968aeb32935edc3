// Results of scenarios and traces for programs that read test results: JUnit and the Test Anything
// Protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_tests.h"
#include "core/base/result.h"

namespace hybridscope {

// A JUnit report as continuous integration reads it: testsuites of named testcases.

enum class JunitProblem : std::uint8_t { failure, error, skipped };

struct JunitCase {
  std::string name{};
  std::string type{};                   // of the failure
  std::vector<std::string> failures{};  // lines, the first is the message; empty: passed
  JunitProblem problem = JunitProblem::failure;
  std::string file{};     // where the cause is; in no schema, read by those that annotate
  std::int64_t line = 0;  // 0: none
};

struct JunitSuite {
  std::string name{};
  std::string file{};
  std::optional<double> seconds{};
  std::vector<Property> properties{};
  std::vector<JunitCase> cases{};
};

// A scenario or trace as a suite: one testcase per rule, one more for each other type of problem; a
// unit that did not run has the one testcase "run". Errors fail the testcase of their type,
// warnings do not.
JunitSuite junit_suite(const TestedUnit& unit);

// The whole report. Each testcase has its suite's name as its class; bytes that XML cannot hold
// become U+FFFD.
std::string junit_text(std::span<const JunitSuite> suites);

// Writes the report as write_output_file() writes.
Status write_junit_file(const std::string& path, std::span<const JunitSuite> suites);
Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases);

// Scenarios and traces in the Test Anything Protocol, version 14: a test point each.

// A suite is "not ok" when one of its testcases failed, with a block that says which and why; "ok"
// with "# SKIP" when it was not tried.
std::string tap_text(std::span<const JunitSuite> suites);

// The names behind "not ok" in a report that tap_text() made. Error: the file cannot be read
// (not_found) or is not such a report (invalid_input).
Result<std::vector<std::string>> failed_in_tap(const std::string& path);

}  // namespace hybridscope
