// Commands that change what single panels show.
#include <fmt/core.h>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/requests_model.h"
#include "gui/model/workbench.h"
#include "sessions/lessons/lesson_reader.h"

namespace hybridscope {

namespace {

Status open_lesson(Workbench& workbench, const std::string& argument) {
  auto lesson = argument.ends_with(".json") ? read_lesson_file(argument) : shipped_lesson(argument);
  if (!lesson.ok()) return lesson.error();
  auto session = LessonSession::open(std::move(lesson).value());
  if (!session.ok()) return session.error();
  return workbench.take_lesson(std::move(session).value());
}

Status go_to_part(Workbench& workbench, std::size_t part) {
  if (Status gone = workbench.lesson()->go_to_part(part); !gone.ok()) return gone;
  return workbench.show_lesson_part();
}

Status next_part(Workbench& workbench, const std::string&) {
  const LessonSession& lesson = *workbench.lesson();
  if (lesson.part_index() + 1 == lesson.lesson().parts.size()) {
    workbench.say(NoticeKind::info, "the lesson is over: " + progress_words(lesson));
    return Ok{};
  }
  return go_to_part(workbench, lesson.part_index() + 1);
}

Status previous_part(Workbench& workbench, const std::string&) {
  const std::size_t part = workbench.lesson()->part_index();
  if (part > 0) return go_to_part(workbench, part - 1);
  workbench.say(NoticeKind::info, "this is the first part");
  return Ok{};
}

Result<std::size_t> read_question(const LessonSession& lesson, const std::string& argument) {
  const auto count = static_cast<std::int64_t>(lesson.taken().size());
  if (count == 0) return invalid_input("this part asks nothing");
  const auto question = read_number(argument.substr(0, argument.find(' ')), {"QUESTION", 1, count});
  if (!question.ok()) return question.error();
  return static_cast<std::size_t>(question.value() - 1);
}

Status answer(Workbench& workbench, const std::string& argument) {
  LessonSession& lesson = *workbench.lesson();
  const auto question = read_question(lesson, argument);
  if (!question.ok()) return question.error();
  const std::int64_t shown = lesson.step_to_show();
  const std::size_t space = argument.find(' ');
  const std::string text = space == std::string::npos ? "" : argument.substr(space + 1);
  if (Status done = lesson.answer(question.value(), text); !done.ok()) return done;
  if (lesson.step_to_show() != shown) return workbench.show_lesson_part();
  workbench.say(NoticeKind::info, progress_words(lesson));
  return Ok{};
}

Status close_lesson(Workbench& workbench, const std::string&) {
  workbench.close();
  return Ok{};
}

constexpr CommandNeeds kLesson = CommandNeeds::lesson;

constexpr CommandRow kLessonCommands[] = {
    {"lesson.open", "Help", "Take a lesson", "", "NAME", CommandNeeds::nothing, open_lesson},
    {"lesson.next", "Help", "Lesson: next part", "Ctrl+PageDown", "", kLesson, next_part},
    {"lesson.previous", "Help", "Lesson: part before", "Ctrl+PageUp", "", kLesson, previous_part},
    {"lesson.answer", "", "Lesson: answer a question", "", "QUESTION ANSWER", kLesson, answer},
    {"lesson.close", "Help", "Lesson: end it", "", "", kLesson, close_lesson},
};

// Does not check that the step has the array, because another step may have it; the panel says so.
Status show_array(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "GROUP ARRAY");
  if (!words.ok()) return words.error();
  const auto& groups = workbench.run()->config().kv_cache_config.groups;
  const auto group =
      read_number(words.value()[0], {"GROUP", -1, static_cast<std::int64_t>(groups.size()) - 1});
  if (!group.ok()) return group.error();
  workbench.options().metadata = {.group = static_cast<std::int32_t>(group.value()),
                                  .array = words.value()[1]};
  return Ok{};
}

Status close_array(Workbench& workbench, const std::string&) {
  workbench.options().metadata = {};
  return Ok{};
}

// Sorting by the same column again reverses the order.
Status sort_requests(Workbench& workbench, const std::string& argument) {
  for (std::size_t i = 0; i < kNumRequestColumns; ++i) {
    const auto column = static_cast<RequestColumn>(i);
    if (request_column_name(column) != argument) continue;
    RequestsOptions& options = workbench.options().requests;
    options.descending = options.sort == column && !options.descending;
    options.sort = column;
    return Ok{};
  }
  std::string names;
  for (std::size_t i = 0; i < kNumRequestColumns; ++i)
    names +=
        fmt::format("{}{}", i == 0 ? "" : ", ", request_column_name(static_cast<RequestColumn>(i)));
  return invalid_input(fmt::format("expected one of {}, found \"{}\"", names, argument));
}

Status timeline_steps(Workbench& workbench, const std::string& argument) {
  const auto steps = read_number(argument, {"STEPS", 5, kMostTimelineSteps});
  if (!steps.ok()) return steps.error();
  workbench.options().timeline.num_steps = static_cast<std::int32_t>(steps.value());
  return Ok{};
}

constexpr CommandRow kPanelsCommands[] = {
    {"metadata.array", "View", "Metadata: show an array as a whole", "", "GROUP ARRAY", kNeedsRun,
     show_array},
    {"metadata.close_array", "View", "Metadata: close the array", "", "", kNeedsRun, close_array},
    {"requests.sort", "View", "Requests: sort by", "", "COLUMN", kNeedsNothing, sort_requests},
    {"timeline.steps", "View", "Timeline: steps at once", "", "STEPS", kNeedsNothing,
     timeline_steps},
};

}  // namespace

bool answer_moves_on(const LessonSession& lesson, const std::string& argument) {
  const auto question = read_question(lesson, argument);
  return question.ok() && lesson.waits_only_for(question.value());
}

std::span<const CommandRow> lesson_commands() { return kLessonCommands; }

std::span<const CommandRow> panel_commands() { return kPanelsCommands; }

}  // namespace hybridscope
