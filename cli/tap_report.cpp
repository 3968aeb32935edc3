#include "cli/tap_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sessions/text/shown_text.h"

namespace hybridscope {
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
