#include "cli/junit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace hybridscope {
namespace {

bool fails(const Problem& problem, std::string_view type) {
  return problem.type == type && problem.severity == Severity::error;
}

// Texts of the failures first: the first is the message. Then one command that shows the first.
JunitCase testcase(const TestedUnit& unit, const std::string& type) {
  JunitCase test{.name = type, .type = type, .file = unit.file};
  std::string command;
  for (const Problem& problem : unit.problems) {
    if (!fails(problem, type)) continue;
    if (test.failures.empty()) {
      test.line = problem.line;
      command = problem.command.empty() ? unit.command : problem.command;
    }
    test.failures.push_back(problem.text);
  }
  for (const ProblemsLeftOut& more : unit.left_out)
    if (more.type == type && more.severity == Severity::error)
      test.failures.push_back(fmt::format("and {} more", more.count));
  if (!command.empty()) test.failures.push_back("reproduce: " + command);
  return test;
}

JunitCase run_case(const TestedUnit& unit) {
  if (!unit.skipped.empty())
    return {.name = "run",
            .failures = {unit.skipped},
            .problem = JunitProblem::skipped,
            .file = unit.file};
  JunitCase test = testcase(unit, "run");
  test.type = unit.result;
  test.problem = JunitProblem::error;
  return test;
}

// Types of problems that are no rules, each once.
std::vector<std::string> other_types(const TestedUnit& unit) {
  std::vector<std::string> types;
  for (const Problem& problem : unit.problems) {
    const bool is_rule = std::ranges::any_of(
        rule_table(), [&](const RuleInfo& rule) { return rule.slug == problem.type; });
    const bool known = std::ranges::find(types, problem.type) != types.end();
    if (!is_rule && !known && problem.type != "run") types.push_back(problem.type);
  }
  return types;
}

}  // namespace

JunitSuite junit_suite(const TestedUnit& unit) {
  JunitSuite suite{
      .name = unit.name, .file = unit.file, .seconds = unit.seconds, .properties = unit.properties};
  const bool ran = unit.skipped.empty() && (unit.broken.empty() || unit.steps > 0);
  if (ran) {
    for (const RuleInfo& rule : rule_table())
      if (unit.in_bytes || rule.rule != Rule::state_bytes_wrong)
        suite.cases.push_back(testcase(unit, std::string(rule.slug)));
    for (const std::string& type : other_types(unit)) suite.cases.push_back(testcase(unit, type));
  }
  if (!unit.skipped.empty() || !unit.broken.empty()) suite.cases.push_back(run_case(unit));
  return suite;
}

}  // namespace hybridscope
