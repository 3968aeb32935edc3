#include "cli/annotations.h"

#include <fmt/core.h>

#include <array>

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

}  // namespace hybridscope
