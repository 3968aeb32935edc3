#include "cli/right_command.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>

#include "cli/run_words.h"
#include "sessions/lessons/shipped_lessons.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/line_source.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

// A pipe would wait for somebody who writes.
bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool names_lesson(const std::string& input) { return shipped_lesson(input).ok(); }

bool holds_session(const std::string& input) {
  const std::string file = parse_session_place(input).file;
  return is_plain_file(file) && SessionFile::open(file, FileAccess::read).ok();
}

bool holds_trace(const std::string& input) {
  if (!is_plain_file(input)) return false;
  auto lines = LineSource::open(input);
  if (!lines.ok()) return false;
  const auto line = lines.value().next();
  return line.ok() && line.value() &&
         line.value()->text.find("\"hybridscope_trace\"") != std::string_view::npos;
}

bool holds_scenario(const std::string& input) {
  return input.ends_with(".json") && is_plain_file(input) && read_scenario_file(input).ok();
}

struct Reader {
  std::string_view command;
  std::string_view what;
  bool (*reads)(const std::string& input);
  bool gui_reads_it = true;
};

constexpr std::array kReaders = {
    Reader{"lessons run", "a lesson", names_lesson, false},
    Reader{"sessions show", "a recorded session", holds_session},
    Reader{"judge", "a trace", holds_trace},
    Reader{"run", "a scenario", holds_scenario},
};

}  // namespace

Error name_right_command(std::string_view command, const std::string& input, Error error) {
  if (input.empty() || input == "-") return error;
  for (const Reader& reader : kReaders) {
    if (!reader.reads(input)) continue;
    if (reader.command == command || (command == "gui" && reader.gui_reads_it)) return error;
    return invalid_input(fmt::format("{} is {}: hybridscope {} {}", input, reader.what,
                                     reader.command, shell_word(input)));
  }
  return error;
}

}  // namespace hybridscope
