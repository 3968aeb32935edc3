#include "cli/step_summary.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "sessions/text/shown_text.h"

namespace hybridscope {
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

}  // namespace hybridscope
