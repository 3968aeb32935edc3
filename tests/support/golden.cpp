#include "tests/support/golden.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sessions/text/input_file.h"

namespace hybridscope::test {
namespace {

std::string difference_at(const Json& expected, const Json& got, const std::string& path) {
  if (expected.is_object() && got.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!got.contains(key)) return path + "/" + key + ": expected " + value.dump() + ", absent";
      if (auto text = difference_at(value, got.at(key), path + "/" + key); !text.empty())
        return text;
    }
    for (const auto& [key, value] : got.items())
      if (!expected.contains(key)) return path + "/" + key + ": not expected, got " + value.dump();
    return {};
  }
  if (expected.is_array() && got.is_array()) {
    if (expected.size() != got.size())
      return path + ": expected " + std::to_string(expected.size()) + " elements " +
             expected.dump() + ", got " + std::to_string(got.size()) + " " + got.dump();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].is_null()) continue;
      if (auto text = difference_at(expected[i], got[i], path + "/" + std::to_string(i));
          !text.empty())
        return text;
    }
    return {};
  }
  if (expected != got) return path + ": expected " + expected.dump() + ", got " + got.dump();
  return {};
}

LineSource open_lines(std::string_view kind) {
  auto lines = LineSource::open(golden_path(kind));
  if (!lines.ok()) throw std::runtime_error(lines.error().message);
  return std::move(lines).value();
}

// Empty behind the last line.
std::optional<std::string> next_line(LineSource& lines) {
  const auto line = lines.next();
  if (!line.ok()) throw std::runtime_error(line.error().message);
  if (!line.value()) return std::nullopt;
  return std::string(line.value()->text);
}

}  // namespace

std::string golden_dir() {
  const char* folder = std::getenv("HYBRIDSCOPE_GOLDEN");
  return folder == nullptr ? HYBRIDSCOPE_SOURCE_DIR "/tests/golden" : folder;
}

std::string golden_path(std::string_view kind) {
  return golden_dir() + "/" + std::string(kind) + ".jsonl.zst";
}

Json first_case(std::string_view kind) {
  LineSource lines = open_lines(kind);
  const auto line = next_line(lines);
  if (!line) throw std::runtime_error(golden_path(kind) + " is empty");
  return Json::parse(*line);
}

void for_each_line(std::string_view kind,
                   const std::function<void(const std::string& line)>& check) {
  LineSource lines = open_lines(kind);
  while (const auto line = next_line(lines)) check(*line);
}

int for_each_case(std::string_view kind, const std::function<void(const Json& test_case)>& check) {
  int cases = 0;
  for_each_line(kind, [&](const std::string& line) {
    check(Json::parse(line));
    ++cases;
  });
  return cases;
}

std::string first_difference(const Json& expected, const Json& got) {
  return difference_at(expected, got, "");
}

}  // namespace hybridscope::test
