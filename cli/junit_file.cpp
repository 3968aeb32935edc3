#include "cli/junit_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

namespace {

bool fails(const Problem& problem, std::string_view type) {
  return problem.type == type && problem.severity == Severity::error;
}

// The failures' texts, the first of which is the message, then a command that shows the first.
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

// Types of problems that are not rules, each once.
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

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : valid_text(escape_controls(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// XML readers turn newlines in attributes into spaces unless they are character references.
std::string attribute(std::string_view name, std::string_view value) {
  std::string text = fmt::format(" {}=\"", name);
  for (const char c : xml(value))
    text += c == '\n' ? "&#10;" : c == '\t' ? "&#9;" : c == '\r' ? "&#13;" : std::string(1, c);
  return text + '"';
}

std::string_view element_name(JunitProblem problem) {
  if (problem == JunitProblem::skipped) return "skipped";
  return problem == JunitProblem::error ? "error" : "failure";
}

std::string problem_text(const JunitCase& test) {
  const std::string_view element = element_name(test.problem);
  std::string body = fmt::format("      <{}", element);
  if (!test.type.empty()) body += attribute("type", test.type);
  body += attribute("message", test.failures.front());
  if (test.problem == JunitProblem::skipped) return body + "/>\n";
  body += ">";
  for (const std::string& text : test.failures) body += xml(text) + "\n";
  return body + fmt::format("</{}>\n", element);
}

std::string case_text(std::string_view suite, const JunitCase& test) {
  std::string text = "    <testcase" + attribute("classname", suite) + attribute("name", test.name);
  if (!test.file.empty()) text += attribute("file", test.file);
  if (test.line > 0) text += attribute("line", std::to_string(test.line));
  if (test.failures.empty()) return text + "/>\n";
  return text + ">\n" + problem_text(test) + "    </testcase>\n";
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;

  void add(const JunitSuite& suite) {
    tests += suite.cases.size();
    failures += count(suite, JunitProblem::failure);
    errors += count(suite, JunitProblem::error);
    skipped += count(suite, JunitProblem::skipped);
  }
  std::string text() const {
    return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests,
                       failures, errors, skipped);
  }

 private:
  static std::size_t count(const JunitSuite& suite, JunitProblem problem) {
    return static_cast<std::size_t>(std::ranges::count_if(suite.cases, [&](const JunitCase& test) {
      return !test.failures.empty() && test.problem == problem;
    }));
  }
};

std::string seconds_text(std::optional<double> seconds) {
  return seconds ? fmt::format(" time=\"{:.3f}\"", *seconds) : std::string();
}

std::string suite_text(const JunitSuite& suite) {
  Counts counts;
  counts.add(suite);
  std::string text = "  <testsuite" + attribute("name", suite.name);
  if (!suite.file.empty()) text += attribute("file", suite.file);
  text += counts.text() + seconds_text(suite.seconds) + ">\n";
  if (!suite.properties.empty()) {
    text += "    <properties>\n";
    for (const Property& property : suite.properties)
      text += "      <property" + attribute("name", property.name) +
              attribute("value", property.value) + "/>\n";
    text += "    </properties>\n";
  }
  for (const JunitCase& test : suite.cases) text += case_text(suite.name, test);
  return text + "  </testsuite>\n";
}

}  // namespace

JunitSuite junit_suite(const TestedUnit& unit) {
  JunitSuite suite{
      .name = unit.name, .file = unit.file, .seconds = unit.seconds, .properties = unit.properties};
  const bool ran = unit.skipped.empty() && (unit.broken.empty() || unit.steps > 0);
  if (ran) {
    for (const RuleInfo& rule : rule_table())
      if (unit.looked_at(rule.evidence))
        suite.cases.push_back(testcase(unit, std::string(rule.slug)));
    for (const std::string& type : other_types(unit)) suite.cases.push_back(testcase(unit, type));
  }
  if (!unit.skipped.empty() || !unit.broken.empty()) suite.cases.push_back(run_case(unit));
  return suite;
}

std::string junit_text(std::span<const JunitSuite> suites) {
  Counts counts;
  std::optional<double> seconds;
  std::string text;
  for (const JunitSuite& suite : suites) {
    counts.add(suite);
    if (suite.seconds) seconds = seconds.value_or(0) + *suite.seconds;
    text += suite_text(suite);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts.text() +
         seconds_text(seconds) + ">\n" + text + "</testsuites>\n";
}

Status write_junit_file(const std::string& path, std::span<const JunitSuite> suites) {
  return write_output_file(path, junit_text(suites));
}

Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases) {
  const std::vector<JunitSuite> suites = {{.name = std::string(suite), .cases = cases}};
  return write_junit_file(path, suites);
}

}  // namespace hybridscope
