#include "cli/test_reports.h"

#include <fmt/core.h>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cli/process.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

std::string escaped(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : valid_text(escape_controls(text))) {
    if (characters.find(c) == std::string_view::npos)
      result += c;
    else
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

std::string_view level(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

std::string annotation(const TestedUnit& unit, const Problem& problem) {
  std::string place;
  if (!unit.file.empty()) {
    place = fmt::format("file={},", annotation_property(unit.file));
    if (problem.line > 0) place += fmt::format("line={},", problem.line);
  }
  const std::string& command = problem.command.empty() ? unit.command : problem.command;
  const std::string message =
      command.empty() ? problem.text : problem.text + "\nreproduce: " + command;
  return fmt::format("::{} {}title={}::{}\n", level(problem.severity), place,
                     annotation_property(one_line(unit.name) + ": " + problem.type),
                     annotation_data(message));
}

}  // namespace

std::string annotation_data(std::string_view text) { return escaped(text, "%\r\n"); }

std::string annotation_property(std::string_view text) { return escaped(text, "%\r\n:,"); }

std::string annotations_text(std::span<const TestedUnit> units) {
  std::string text;
  std::array<std::int64_t, 2> shown{};     // [Severity]
  std::array<std::int64_t, 2> left_out{};  // [Severity]
  for (const TestedUnit& unit : units) {
    for (const Problem& problem : unit.problems) {
      const auto severity = static_cast<std::size_t>(problem.severity);
      if (shown[severity] == kMaxAnnotations) {
        ++left_out[severity];
        continue;
      }
      ++shown[severity];
      text += annotation(unit, problem);
    }
    for (const ProblemsLeftOut& more : unit.left_out)
      left_out[static_cast<std::size_t>(more.severity)] += more.count;
  }
  if (left_out[0] + left_out[1] > 0)
    text += fmt::format(
        "::notice title=hybridscope::{} more errors and {} more warnings have no annotation\n",
        left_out[0], left_out[1]);
  return text;
}

namespace {

constexpr std::size_t kRoomForCut = 200;  // bytes of the line that says what was cut
constexpr std::size_t kMaxCell = 400;     // bytes

// Text of a cell, escaped so that it cannot end the cell, start a tag or make a link.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text, kMaxCell)) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (std::string_view("|\\`*_[]~").find(c) != std::string_view::npos)
      escaped += std::string("\\") + c;
    else
      escaped += c;
  }
  return escaped;
}

std::string row(const TestedUnit& unit) {
  const std::string first = !unit.problems.empty() ? unit.problems.front().text : unit.skipped;
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(unit.result), cell(unit.name),
                     unit.steps, unit.findings,
                     unit.seconds ? fmt::format("{:.2f}", *unit.seconds) : std::string(),
                     cell(first));
}

bool is_clean(const TestedUnit& unit) { return unit.problems.empty() && unit.skipped.empty(); }

}  // namespace

std::string step_summary_text(std::string_view title, std::span<const TestedUnit> units,
                              std::size_t max_bytes) {
  std::size_t clean = 0;
  for (const TestedUnit& unit : units) clean += is_clean(unit) ? 1 : 0;
  std::string text = fmt::format(
      "### {}: {} of {} without a problem\n\n"
      "| result | name | steps | findings | seconds | first problem |\n"
      "|---|---|---:|---:|---:|---|\n",
      cell(title), clean, units.size());
  if (text.size() + kRoomForCut > max_bytes) return {};
  std::size_t cut = 0;
  for (const bool clean_ones : {false, true})
    for (const TestedUnit& unit : units) {
      if (is_clean(unit) != clean_ones) continue;
      const std::string line = row(unit);
      if (cut == 0 && text.size() + line.size() + kRoomForCut <= max_bytes)
        text += line;
      else
        ++cut;
    }
  if (cut > 0)
    text += fmt::format("\n{} of {} rows are cut: a summary has at most {} bytes.\n", cut,
                        units.size(), max_bytes);
  return text + "\n";
}

Status append_step_summary(const std::string& path, std::string_view title,
                           std::span<const TestedUnit> units) {
  std::error_code error;
  const auto there = std::filesystem::file_size(path, error);
  const std::size_t used = error ? 0 : static_cast<std::size_t>(there);
  if (used >= kMaxStepSummaryBytes) return Ok{};
  const std::string text = step_summary_text(title, units, kMaxStepSummaryBytes - used);
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out << text;
  if (!out.flush())
    return Error{ErrorKind::io, fmt::format("cannot append to {} (GITHUB_STEP_SUMMARY)", path)};
  return Ok{};
}

namespace {

void tell_github(std::span<const TestedUnit> units, const PublishOptions& options) {
  fmt::print(stderr, "{}", annotations_text(units));
  if (options.environment.step_summary.empty()) return;
  const Status written = append_step_summary(options.environment.step_summary,
                                             fmt::format("hybridscope {}", options.command), units);
  if (!written.ok()) report_message(options.command, written.error().message);
}

}  // namespace

int publish_tests(std::span<const TestedUnit> units, const PublishOptions& options) {
  if (options.environment.github_annotations) tell_github(units, options);
  std::vector<JunitSuite> suites;
  suites.reserve(units.size());
  for (const TestedUnit& unit : units) suites.push_back(junit_suite(unit));
  int code = kExitFine;
  ask_for_interrupts();  // a report is written whole or not at all
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    const Status written = write_output_file(path, text);
    if (written.ok()) return;
    report_message(options.command, written.error().message);
    code = kExitEnvironment;
  };
  write(options.junit, junit_text(suites));
  write(options.tap, tap_text(suites));
  return code;
}

}  // namespace hybridscope
