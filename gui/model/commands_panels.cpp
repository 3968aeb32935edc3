// Commands that change what single panels show: also those of the language model and of a plan.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/numeric/hybrid_model.h"
#include "gui/model/command_table.h"
#include "gui/model/live_speech.h"
#include "gui/model/plan_model.h"
#include "gui/model/requests_model.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
#include "sessions/lessons/lesson.h"
#include "sessions/scenario/scenario.h"
#include "sessions/weights/load_model.h"

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
template <class Options>
Status sort_by(Options& options, const std::vector<std::string_view>& names,
               const std::string& column) {
  if (std::ranges::find(names, column) == names.end())
    return invalid_input(
        fmt::format("expected one of {}, found \"{}\"", fmt::join(names, ", "), column));
  options.descending = options.sort == column && !options.descending;
  options.sort = column;
  return Ok{};
}

Status sort_requests(Workbench& workbench, const std::string& column) {
  return sort_by(workbench.options().requests, request_sort_names(), column);
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

// Commands about the language model that runs on the decisions of a run.

namespace {

Status load_weights(Workbench& workbench, const std::string& argument) {
  auto loaded = load_model(argument);
  if (!loaded.ok()) return loaded.error();
  workbench.note_read({.what = "of the language model", .path = argument});
  const LanguageModel* before = workbench.speaking();
  workbench.speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{.folder = argument,
                    .form = before == nullptr ? NumericForm::recurrent : before->form,
                    .model = std::make_shared<const HybridModel>(std::move(loaded).value().model),
                    .make_machine = workbench.language_machine()}));
  if (workbench.view().find_panel("text") != nullptr) workbench.view().layout.show_panel("text");
  workbench.say(NoticeKind::info,
                fmt::format("{} runs on the decisions of live runs", weights_name(argument)));
  return Ok{};
}

Status set_form(Workbench& workbench, const std::string& argument) {
  const auto form = parse_numeric_form(argument);
  if (!form)
    return invalid_input(fmt::format("expected recurrent or chunked, found \"{}\"", argument));
  if (workbench.speaking() == nullptr)
    return invalid_input("no language model runs: run.weights opens one");
  LanguageModel changed = *workbench.speaking();
  changed.form = *form;
  if (changed.form != workbench.speaking()->form)
    workbench.speak_with(std::make_shared<const LanguageModel>(std::move(changed)));
  return Ok{};
}

Status show_token(Workbench& workbench, const std::string& argument) {
  if (argument == "last") {
    workbench.options().text.token = 0;
    return Ok{};
  }
  const auto token = read_number(argument, {"TOKEN", 1, std::numeric_limits<std::int32_t>::max()});
  if (!token.ok()) return token.error();
  workbench.options().text.token = static_cast<std::int32_t>(token.value());
  return Ok{};
}

constexpr CommandRow kLanguageCommands[] = {
    {"run.weights", "Run", "Run a language model on the decisions", "", "DIR", kNeedsNothing,
     load_weights},
    {"run.form", "Run", "Language model: form of prompt rows", "", "recurrent|chunked",
     kNeedsNothing, set_form},
    {"text.token", "", "Text: show the probabilities of a token", "", "TOKEN|last", kNeedsNothing,
     show_token},
};

}  // namespace

std::span<const CommandRow> language_commands() { return kLanguageCommands; }

// Commands on the results of `hybridscope plan`.

namespace {

constexpr std::string_view kWorst = "worst";

Status select_combination(Workbench& workbench, const std::string& name) {
  return workbench.plan_results()->select(name);
}

Status prefer_goals(Workbench& workbench, const std::string& goals) {
  return workbench.plan_results()->prefer(goals);
}
std::string suggested_goals(const Workbench& workbench) {
  return workbench.plan_results() == nullptr ? "" : workbench.plan_results()->goals();
}

Status sort_combinations(Workbench& workbench, const std::string& column) {
  return sort_by(workbench.options().plan, plan_sort_names(*workbench.plan_results()), column);
}

std::int64_t worst_step(const ShownPlan& plan) {
  const auto selected = plan.selected();
  return selected ? plan.view().results[*selected].figures.worst_step : 0;
}

Status run_combination(Workbench& workbench, const std::string& argument) {
  ShownPlan& plan = *workbench.plan_results();
  const auto step = argument == kWorst ? Result<std::int64_t>(worst_step(plan))
                                       : read_number(argument, {"STEP", 1, kMaxStep});
  if (!step.ok()) return step.error();
  auto opened = plan.run_selected();
  if (!opened.ok()) return opened.error();
  if (const auto moved = opened.value()->forward(); !moved.ok()) return moved.error();
  workbench.open(std::move(opened).value());
  if (step.value() > 1) workbench.control().go(step.value(), false);
  workbench.say(NoticeKind::info, fmt::format("opened {}", workbench.run()->title()));
  return Ok{};
}
std::string suggested_step(const Workbench&) { return std::string(kWorst); }

Status read_traffic(Workbench& workbench, const std::string& place) {
  if (Status read = workbench.plan_results()->read_traffic_from(place); !read.ok()) return read;
  workbench.say(NoticeKind::info, "the plan's traffic is read from " + place);
  return Ok{};
}

// What a running plan has added to its file.
Status reload_results(Workbench& workbench, const std::string&) {
  ShownPlan& before = *workbench.plan_results();
  auto again = ShownPlan::open(before.file());
  if (!again.ok()) return again.error();
  if (Status kept = again.value()->prefer(before.goals()); !kept.ok()) return kept;
  if (const auto selected = before.selected())
    (void)again.value()->select(before.view().results[*selected].name);
  again.value()->take_traffic_of(before);
  workbench.show_plan_results(std::move(again).value());
  return Ok{};
}

Status close_results(Workbench& workbench, const std::string&) {
  workbench.close_plan_results();
  return Ok{};
}

constexpr CommandNeeds kResults = CommandNeeds::plan_results;

constexpr CommandRow kPlanCommands[] = {
    {"plan.run", "Compare", "Plan: open the selected combination at a step", "", "STEP|worst",
     kResults, run_combination, suggested_step},
    {"plan.prefer", "Compare", "Plan: prefer other goals", "", "GOAL,...", kResults, prefer_goals,
     suggested_goals},
    {"plan.sort", "Compare", "Plan: sort combinations by", "", "COLUMN", kResults,
     sort_combinations},
    {"plan.select", "Compare", "Plan: select a combination", "", "NAME", kResults,
     select_combination},
    {"plan.traffic", "Compare", "Plan: say where its traffic is", "", "FILE", kResults,
     read_traffic},
    {"plan.reload", "Compare", "Plan: read the results again", "", "", kResults, reload_results},
    {"plan.close", "Compare", "Plan: close it", "", "", kResults, close_results},
};

}  // namespace

std::span<const CommandRow> plan_commands() { return kPlanCommands; }

}  // namespace hybridscope
