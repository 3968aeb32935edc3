#include "sessions/lessons/lesson_question_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sessions/breakpoint/break_query.h"
#include "sessions/lessons/lesson_answer.h"

namespace hybridscope {
namespace {

// A break error without the lines that point into the expression: the JSON pointer does.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

void check_expressions(const JsonPlace& place, const LessonQuestion& question, JsonErrors& errors) {
  const auto report = [&](std::string_view key, const Error& error) {
    errors.fail(child_pointer(place.pointer, key), first_line(error.message));
  };
  if (const auto value = BreakQuery::parse(question.value, "true"); !value.ok())
    report("value", value.error());
  if (const auto where = BreakQuery::parse("step", question.where); !where.ok())
    report("where", where.error());
  for (const LessonTextPiece& piece : split_because(question.because)) {
    if (!piece.is_name || piece.text == "answer") continue;
    if (const auto field = BreakQuery::parse(piece.text, "true"); !field.ok())
      report("because", field.error());
  }
}

// The answer as the engine would word it.
std::string read_answer(const JsonPlace& place, const BreakField& field, JsonErrors& errors) {
  const nlohmann::json& value = *place.value;
  const bool is_text = value.is_string();
  std::string text = is_text ? value.get<std::string>() : value.dump();
  const bool fits = (field.type == BreakType::number && value.is_number_integer()) ||
                    (field.type == BreakType::flag && value.is_boolean()) ||
                    (field.type == BreakType::word && is_text) ||
                    (field.type == BreakType::request && is_text);
  const auto words = fits ? canonical_answer(field, text) : std::nullopt;
  if (words) return *words;
  errors.fail(place.pointer,
              fmt::format("expected {} of {}, found {}",
                          field.type == BreakType::flag ? "true or false" : answer_kind(field),
                          field.name, describe_json(value)));
  return {};
}

void read_answers(const ObjectReader& reader, LessonQuestion& question, JsonErrors& errors) {
  const auto query = BreakQuery::parse(question.value, "true");
  if (!query.ok()) return;  // was reported
  const BreakField& field = query.value().field();
  if (const auto answer = reader.require("answer"))
    question.answer = read_answer(*answer, field, errors);
  const auto choices = reader.find("choices");
  if (!choices) return;
  for (const JsonPlace& choice : read_array(*choices, errors))
    question.choices.push_back(read_answer(choice, field, errors));
  if (question.choices.size() < 2)
    errors.fail(choices->pointer,
                fmt::format("{} choices (expected two or more)", question.choices.size()));
  if (std::ranges::find(question.choices, question.answer) == question.choices.end())
    errors.fail(choices->pointer,
                fmt::format("the answer {} is none of the choices", quoted_text(question.answer)));
}

}  // namespace

LessonQuestion read_lesson_question(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(place, {"ask", "value", "where", "answer", "choices", "because"},
                            errors);
  LessonQuestion question;
  const auto text = [&](std::string_view key) {
    const auto found = reader.require(key);
    std::string words = found ? read_string(*found, errors) : std::string();
    if (found && words.empty()) errors.fail(found->pointer, "expected text, found \"\"");
    return words;
  };
  question.ask = text("ask");
  question.value = text("value");
  question.where = reader.string("where").value_or("true");
  question.because = text("because");
  if (errors.failed()) return question;
  check_expressions(place, question, errors);
  if (!errors.failed()) read_answers(reader, question, errors);
  return question;
}

}  // namespace hybridscope
