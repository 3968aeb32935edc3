#include "sessions/job/right_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "sessions/lessons/lesson.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/input_file.h"
#include "sessions/text/shown_text.h"
#include "sessions/traffic/load_traffic.h"
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

bool first_line_has(const std::string& input, std::initializer_list<std::string_view> words) {
  if (!is_plain_file(input)) return false;
  auto lines = LineSource::open(input);
  if (!lines.ok()) return false;
  const auto line = lines.value().next();
  return line.ok() && line.value() && std::ranges::all_of(words, [&](std::string_view word) {
           return line.value()->text.find(word) != std::string_view::npos;
         });
}

bool holds_trace(const std::string& input) {
  return first_line_has(input, {"\"hybridscope_trace\""});
}

bool holds_traffic(const std::string& input) { return recognise_traffic_file(input) != nullptr; }

bool holds_scenario(const std::string& input) {
  return input.ends_with(".json") && is_plain_file(input) && read_scenario_file(input).ok();
}

bool holds_json_with(const std::string& input, std::initializer_list<const char*> keys) {
  if (!input.ends_with(".json") || !is_plain_file(input)) return false;
  const auto json = nlohmann::json::parse(std::ifstream(input), nullptr, false);
  return json.is_object() &&
         std::ranges::all_of(keys, [&](const char* key) { return json.contains(key); });
}

bool holds_lesson(const std::string& input) {
  return holds_json_with(input, {"scenario", "parts"});
}

bool holds_model(const std::string& input) { return holds_json_with(input, {"architectures"}); }

bool holds_bug(const std::string& input) {
  return holds_json_with(input, {"scenario", "mechanism"});
}

// A kind of input: the commands that read it, and the one that is named to all others, with the
// input or, of a known bug, its name.
struct Kind {
  std::string_view what;
  bool (*holds)(const std::string& input);
  std::array<std::string_view, 5> readers;  // also of what begins so, "": none
  std::string_view right_command;
};

constexpr std::array kKinds = {
    Kind{"a lesson", names_lesson, {"lessons run"}, "lessons run {input}"},
    Kind{"a lesson", holds_lesson, {"lessons run"}, "lessons run {input}"},
    Kind{"a known bug", holds_bug, {}, "bugs run {stem}"},
    Kind{"a recorded session", holds_session, {"sessions", "diff", "gui"}, "sessions show {input}"},
    Kind{"a trace", holds_trace, {"judge", "shrink", "gui", "plan fit"}, "judge {input}"},
    Kind{"traffic", holds_traffic, {"gui", "--traffic"}, "run --traffic {input} --model MODEL"},
    Kind{"a model's config.json", holds_model, {"model", "plan"}, "model {input}"},
    Kind{"a scenario",
         holds_scenario,
         {"run", "shrink", "export", "explain-cache", "gui"},
         "run {input}"},
};

}  // namespace

Error name_right_command(std::string_view command, const std::string& input, Error error) {
  if (input.empty() || input == "-") return error;
  // A reader of the file has named it.
  if (error.message.find("(hybridscope ") != std::string::npos) return error;
  const auto reads = [command](std::string_view reader) {
    return !reader.empty() && (command == reader || command.starts_with(std::string(reader) + ' '));
  };
  for (const Kind& kind : kKinds) {
    if (!kind.holds(input)) continue;
    if (std::ranges::any_of(kind.readers, reads)) return error;
    const bool is_side = command == "diff" && kind.holds == &holds_scenario;
    return invalid_input(fmt::format(
        "{} is {}: hybridscope {}", input, kind.what,
        fmt::format(
            fmt::runtime(is_side ? "diff --scenario {input} --engine safe --engine reference"
                                 : kind.right_command),
            fmt::arg("input", shell_word(input)),
            fmt::arg("stem", shell_word(std::filesystem::path(input).stem().string())))));
  }
  return error;
}

}  // namespace hybridscope
