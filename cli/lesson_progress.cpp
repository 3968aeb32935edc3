#include "cli/lesson_progress.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr IntegerRange kQuestions{.min = 0, .max = 1'000'000};

std::vector<AnswerState> answers_of(const std::string& text) {
  std::vector<AnswerState> answers;
  for (const char letter : text)
    answers.push_back(letter == 'r'   ? AnswerState::right
                      : letter == 'w' ? AnswerState::wrong
                                      : AnswerState::open);
  return answers;
}

std::map<std::string, LessonPlace> read_places(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return {};
  const auto json = parse_json({.text = text.value(), .file = path});
  if (!json.ok()) return {};
  const auto places = read_json(path, [&] {
    std::map<std::string, LessonPlace> read;
    for (const auto& [lesson, place] : JsonValue(json.value()).members()) {
      place.check_keys({"question", "answers"});
      const std::int64_t question = place.int64_at("question", kQuestions).value_or(0);
      read[lesson] = {.question = static_cast<std::size_t>(question),
                      .answers = answers_of(place.string_at("answers").value_or(""))};
    }
    return read;
  });
  return places.ok() ? places.value() : std::map<std::string, LessonPlace>();
}

}  // namespace

std::string lesson_progress_path(const EnvironmentLookup& lookup) {
  std::string folder = lookup("XDG_STATE_HOME");
  if (!folder.starts_with('/')) {
    folder = lookup("HOME");
    if (!folder.starts_with('/')) return {};
    folder += "/.local/state";
  }
  return folder + "/hybridscope/lessons.json";
}

LessonProgress::LessonProgress(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) places_ = read_places(path_);
}

LessonPlace LessonProgress::of(const std::string& lesson, std::size_t num_questions) const {
  const auto place = places_.find(lesson);
  if (place == places_.end() || place->second.question >= num_questions ||
      place->second.answers.size() != num_questions)
    return {.question = 0, .answers = std::vector<AnswerState>(num_questions, AnswerState::open)};
  return place->second;
}

Status LessonProgress::keep(const std::string& lesson, const LessonPlace& place) {
  if (path_.empty()) return Ok{};
  const bool is_under_way = place.question > 0 && place.question < place.answers.size();
  if (!is_under_way && !places_.contains(lesson)) return Ok{};
  if (is_under_way)
    places_[lesson] = place;
  else
    places_.erase(lesson);
  Json json = Json::object();
  for (const auto& [name, at] : places_) {
    std::string letters;
    for (const AnswerState answer : at.answers) letters += static_cast<char>(answer);
    json[name] = {{"question", at.question}, {"answers", letters}};
  }
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  return write_output_file(path_, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace hybridscope
