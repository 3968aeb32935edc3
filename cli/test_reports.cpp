#include "cli/test_reports.h"

#include <fmt/core.h>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
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
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
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

Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases) {
  const std::vector<JunitSuite> suites = {{.name = std::string(suite), .cases = cases}};
  return write_output_file(path, junit_text(suites));
}

namespace {

constexpr std::string_view kVersionLine = "TAP version 14";
constexpr std::string_view kNotOk = "not ok ";

bool has_problem(const JunitSuite& suite, bool skipped) {
  return std::any_of(suite.cases.begin(), suite.cases.end(), [&](const JunitCase& test) {
    return !test.failures.empty() && (test.problem == JunitProblem::skipped) == skipped;
  });
}

// Requires: it has a skipped case.
std::string why_skipped(const JunitSuite& suite) {
  const auto skipped = std::ranges::find(suite.cases, JunitProblem::skipped, &JunitCase::problem);
  return one_line(skipped->failures.front(), 1000);
}

// A '#' would begin a directive.
std::string description(std::string_view name) {
  std::string text;
  for (const char c : one_line(name, 1000)) {
    if (c == '#' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string without_escapes(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    name += text[i];
  }
  return name;
}

// JSON strings are YAML.
std::string yaml_string(std::string_view text) {
  return nlohmann::json(escape_controls(text))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string diagnostics(const JunitSuite& suite) {
  std::string text = "  ---\n";
  if (!suite.file.empty()) text += fmt::format("  file: {}\n", yaml_string(suite.file));
  text += "  problems:\n";
  for (const JunitCase& test : suite.cases) {
    if (test.failures.empty() || test.problem == JunitProblem::skipped) continue;
    text += fmt::format("    - rule: {}\n      message: {}\n", yaml_string(test.name),
                        yaml_string(test.failures.front()));
    if (test.line > 0) text += fmt::format("      line: {}\n", test.line);
  }
  return text + "  ...\n";
}

}  // namespace

std::string tap_text(std::span<const JunitSuite> suites) {
  std::string text = fmt::format("{}\n1..{}\n", kVersionLine, suites.size());
  std::size_t number = 0;
  for (const JunitSuite& suite : suites) {
    const bool failed = has_problem(suite, false);
    const bool skipped = !failed && has_problem(suite, true);
    text += fmt::format("{}ok {} - {}{}\n", failed ? "not " : "", ++number, description(suite.name),
                        skipped ? " # SKIP " + why_skipped(suite) : "");
    if (failed) text += diagnostics(suite);
  }
  return text;
}

Result<std::vector<std::string>> failed_in_tap(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorKind::not_found, fmt::format("{}: cannot be read", path)};
  std::string line;
  std::getline(in, line);
  if (line != kVersionLine)
    return invalid_input(fmt::format("{}:1: {}, expected \"{}\", as --tap writes it", path,
                                     line.empty() ? "nothing" : "\"" + one_line(line) + "\"",
                                     kVersionLine));
  std::vector<std::string> names;
  while (std::getline(in, line)) {
    const std::size_t name = line.find(" - ");
    if (line.starts_with(kNotOk) && name != std::string::npos)
      names.push_back(without_escapes(std::string_view(line).substr(name + 3)));
  }
  return names;
}

}  // namespace hybridscope
