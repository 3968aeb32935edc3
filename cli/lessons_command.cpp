#include "cli/commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "cli/common_options.h"
#include "cli/lessons_command.h"
#include "cli/process.h"
#include "sessions/job/right_command.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {
namespace {

constexpr std::size_t kTitleColumns = 60;

constexpr const char* kExitCodesOfReaders =
    "Exit codes: 0 fine, 2 usage or no such lesson, 3 a lesson file that cannot be read,\n"
    "4 output that cannot be written.";
constexpr const char* kExitCodesOfAnswers =
    "Exit codes: 0 fine, 1 an answer of a lesson is not the engine's, 2 usage or no such lesson,\n"
    "3 a lesson file that cannot be read, 4 output that cannot be written.";

struct LessonsOptions {
  bool json = false;
  std::string name;                // show, run
  bool answers = false;            // show
  std::string answers_from;        // run
  std::vector<std::string> names;  // check, export; empty: all
  std::string weights;             // check
  std::string html;                // export: the folder
  MakeLessonSite make_site = nullptr;
};

bool is_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

// What its place is kept under: a file by its path from the root, whatever folder it is named from.
std::string progress_key(const std::string& name) {
  if (!is_file(name)) return name;
  std::error_code error;
  const auto path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(name, error), error);
  return error ? name : path.string();
}

Result<Lesson> find_lesson(const std::string& name) {
  return is_file(name) ? read_lesson_file(name) : shipped_lesson(name);
}

// An unknown name is a usage error; a file that cannot be read is not.
int fail(std::string_view command, const std::string& name, const Error& error) {
  const Error named = name_right_command("lessons run", name, error);
  const int code = report_error(fmt::format("lessons {}", command), named);
  return is_file(name) || named.message != error.message ? code : static_cast<int>(kExitUsage);
}

std::vector<std::string> all_names() {
  const auto names = shipped_lesson_names();
  return {names.begin(), names.end()};
}

int list_command(const LessonsOptions& options) {
  TextTable table({"<name", "<title", "parts", "questions"});
  auto json = nlohmann::ordered_json::array();
  for (const std::string& name : all_names()) {
    const auto found = shipped_lesson(name);
    if (!found.ok()) return report_error("lessons list", found.error());
    const Lesson& lesson = found.value();
    table.add({lesson.name, printable(lesson.title, kTitleColumns),
               std::to_string(lesson.parts.size()), std::to_string(num_questions(lesson))});
    json.push_back({{"name", lesson.name},
                    {"title", lesson.title},
                    {"teaches", lesson.teaches},
                    {"scenario", lesson.scenario_file},
                    {"parts", lesson.parts.size()},
                    {"questions", num_questions(lesson)}});
  }
  if (options.json)
    print_json(json);
  else
    fmt::print("{}\nhybridscope lessons run NAME takes one of them.\n", table.format());
  return kExitFine;
}

int show_command(const LessonsOptions& options) {
  const auto lesson = find_lesson(options.name);
  if (!lesson.ok()) return fail("show", options.name, lesson.error());
  if (!options.answers) {
    fmt::print("{}", format_lesson(lesson.value()));
    return kExitFine;
  }
  auto run = LessonRun::create(lesson.value());
  if (!run.ok()) return report_error("lessons show", run.error());
  const auto text = format_lesson_with_answers(run.value());
  if (!text.ok()) return report_error("lessons show", text.error());
  fmt::print("{}", text.value());
  return kExitFine;
}

int run_lesson_command(const LessonsOptions& options) {
  const auto lesson = find_lesson(options.name);
  if (!lesson.ok()) return fail("run", options.name, lesson.error());
  const bool asks = options.answers_from.empty();
  const bool at_terminal = asks && isatty(STDIN_FILENO) != 0;
  ask_for_interrupts();
  auto answers = LineSource::open(asks ? "-" : options.answers_from, was_interrupted);
  if (!answers.ok()) return report_error("lessons run", answers.error());
  LessonProgress progress(at_terminal ? lesson_progress_path(environment_variable) : "");
  return play_lesson(
      {.lesson = lesson.value(), .typed = options.name, .key = progress_key(options.name)},
      at_terminal ? AnswerSource::terminal
      : asks      ? AnswerSource::nobody
                  : AnswerSource::lines,
      answers.value(), progress);
}

// What is wrong with a lesson, as lines or as JSON.
void print_checks(const LessonsOptions& options, const std::vector<Lesson>& lessons,
                  const std::vector<std::vector<LessonProblem>>& problems) {
  auto json = nlohmann::ordered_json::array();
  std::size_t asked = 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    auto list = nlohmann::ordered_json::array();
    for (const LessonProblem& problem : problems[i]) {
      list.push_back(
          {{"part", problem.part}, {"question", problem.question}, {"message", problem.message}});
      if (!options.json) fmt::print("{}\n", printable(problem.message, 1000));
    }
    asked += num_questions(lessons[i]);
    wrong += problems[i].size();
    json.push_back(
        {{"name", lessons[i].name}, {"questions", num_questions(lessons[i])}, {"problems", list}});
  }
  if (options.json) {
    print_json({{"questions", asked}, {"problems", wrong}, {"lessons", json}});
  } else {
    fmt::print("{}, {}: {}\n", counted(static_cast<std::int64_t>(lessons.size()), "lesson"),
               counted(static_cast<std::int64_t>(asked), "question"),
               wrong == 0 ? "all answers are the engine's"
                          : counted(static_cast<std::int64_t>(wrong), "problem"));
  }
}

// The lessons that were named, or all; an exit code if one cannot be read.
struct ChosenLessons {
  std::vector<Lesson> lessons = {};
  int failed = kExitFine;
};
ChosenLessons choose_lessons(std::string_view command, const LessonsOptions& options) {
  ChosenLessons chosen;
  for (const std::string& name : options.names.empty() ? all_names() : options.names) {
    auto lesson = find_lesson(name);
    if (!lesson.ok()) return {.failed = fail(command, name, lesson.error())};
    chosen.lessons.push_back(std::move(lesson).value());
  }
  return chosen;
}

// The model whose texts lessons say; null: no lesson says any, or the folder is not here.
Result<std::shared_ptr<const HybridModel>> load_lesson_model(const LessonsOptions& options,
                                                             const std::vector<Lesson>& lessons) {
  using Model = std::shared_ptr<const HybridModel>;
  const auto shipped = find_shipped_model();
  if (options.weights.empty() && !shipped.ok()) return Model();
  if (std::ranges::all_of(lessons, [](const Lesson& lesson) { return num_sayings(lesson) == 0; }))
    return Model();
  auto loaded = load_model(options.weights.empty() ? shipped.value() : options.weights);
  if (!loaded.ok()) return loaded.error();
  return Model(std::make_shared<const HybridModel>(std::move(loaded).value().model));
}

int check_command(const LessonsOptions& options) {
  const auto [lessons, failed] = choose_lessons("check", options);
  if (failed != kExitFine) return failed;
  const auto model = load_lesson_model(options, lessons);
  if (!model.ok()) return report_error("lessons check", model.error());
  std::vector<std::vector<LessonProblem>> problems;
  problems.reserve(lessons.size());
  for (const Lesson& lesson : lessons) {
    problems.push_back(check_lesson(lesson));
    const auto sayings = model.value() == nullptr ? std::vector<LessonProblem>()
                                                  : check_sayings(lesson, model.value());
    problems.back().insert(problems.back().end(), sayings.begin(), sayings.end());
  }
  const auto said = std::accumulate(
      lessons.begin(), lessons.end(), std::size_t{0},
      [](std::size_t sum, const Lesson& lesson) { return sum + num_sayings(lesson); });
  if (said > 0 && model.value() == nullptr)
    report_message(
        "lessons check",
        fmt::format("{} of a language model not compared: no folder {} here or beside the program "
                    "(--weights)",
                    counted(static_cast<std::int64_t>(said), "text"), kShippedModel));
  print_checks(options, lessons, problems);
  const bool agree = std::ranges::all_of(problems, [](const auto& list) { return list.empty(); });
  return agree ? kExitFine : kExitFindings;
}

// Pages show the engine's answers, so a lesson that says something else is refused.
int export_lessons_command(const LessonsOptions& options) {
  constexpr const char* kExport = "lessons export";
  if (options.make_site == nullptr)
    return report_error(kExport, Error{ErrorKind::not_available, "built without pages"});
  auto [lessons, failed] = choose_lessons("export", options);
  if (failed != kExitFine) return failed;
  ask_for_interrupts();
  for (const Lesson& lesson : lessons) {
    for (const LessonProblem& problem : check_lesson(lesson)) {
      report_message(kExport, problem.message);
      failed = kExitFindings;
    }
    if (was_interrupted()) break;  // write_lesson_site says so
  }
  if (failed != kExitFine) return failed;
  const auto num_lessons = static_cast<std::int64_t>(lessons.size());
  const Status written = write_lesson_site(options.make_site, std::move(lessons), options.html);
  if (!written.ok()) return report_error(kExport, written.error());
  fmt::print("{} in {}; open {}/index.html in a browser\n", counted(num_lessons, "lesson"),
             printable(options.html, 1000), printable(options.html, 1000));
  return kExitFine;
}

void add_name(CLI::App& app, LessonsOptions& options) {
  app.add_option("lesson", options.name, "name of a lesson (see list), or a lesson file")
      ->required()
      ->type_name("NAME|FILE.json");
}

Subcommand add_list(CLI::App& lessons, LessonsOptions& options) {
  CLI::App& app = *lessons.add_subcommand("list", "name, title, parts and questions of each");
  app.add_flag("--json", options.json, "as a JSON array");
  app.footer(
      "Examples:\n"
      "  hybridscope lessons list\n"
      "  hybridscope lessons list --json | jq -r \".[].name\"\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, 4 output that cannot be written.");
  return {&app, [&options] { return list_command(options); }};
}

Subcommand add_show(CLI::App& lessons, LessonsOptions& options) {
  CLI::App& app = *lessons.add_subcommand("show", "the whole text of a lesson, without answers");
  add_name(app, options);
  app.add_flag("--answers", options.answers, "with answers, and what asks the engine for them");
  app.footer(
      fmt::format("Examples:\n"
                  "  hybridscope lessons show request_life\n"
                  "  hybridscope lessons show graph_padding --answers\n\n{}",
                  kExitCodesOfReaders));
  return {&app, [&options] { return show_command(options); }};
}

Subcommand add_run(CLI::App& lessons, LessonsOptions& options) {
  CLI::App& app = *lessons.add_subcommand("run", "take a lesson: text, steps, questions");
  add_name(app, options);
  app.add_option("--answers-from", options.answers_from,
                 "file of answers, one per line, instead of the terminal; - is stdin")
      ->type_name("FILE|-");
  app.footer(fmt::format(
      "Examples:\n"
      "  hybridscope lessons run align_boundary\n"
      "  hybridscope lessons run my_lesson.json --answers-from answers.txt\n\n"
      "At a terminal an empty line shows the answer, hint says what is asked for, back goes to "
      "the\n"
      "question before, q or Ctrl-D leaves, and the next run goes on there. If stdin is not a\n"
      "terminal, each question is answered by the engine, and its answer is compared with the\n"
      "lesson's.\n{}",
      kExitCodesOfAnswers));
  return {&app, [&options] { return run_lesson_command(options); }};
}

Subcommand add_check(CLI::App& lessons, LessonsOptions& options) {
  CLI::App& app =
      *lessons.add_subcommand("check", "compare the answers of lessons with the engine's");
  app.add_option("lessons", options.names, "lessons or lesson files, without one all shipped ones")
      ->type_name("NAME|FILE.json");
  app.add_flag("--json", options.json, "as one JSON object");
  app.add_option("--weights", options.weights,
                 fmt::format("language model that says what lessons say it does, without it {}",
                             kShippedModel))
      ->type_name("DIR");
  app.footer(
      fmt::format("Examples:\n"
                  "  hybridscope lessons check\n"
                  "  hybridscope lessons check my_lesson.json --json\n\n{}",
                  kExitCodesOfAnswers));
  return {&app, [&options] { return check_command(options); }};
}

Subcommand add_export(CLI::App& lessons, LessonsOptions& options) {
  CLI::App& app = *lessons.add_subcommand("export", "lessons as pages for a browser, offline");
  app.add_option("--html", options.html,
                 "folder to write: index.html, a page for each lesson, one script, one style sheet")
      ->required()
      ->type_name("DIR");
  app.add_option("lessons", options.names, "lessons or lesson files, without one all shipped ones")
      ->type_name("NAME|FILE.json");
  app.footer(
      "Examples:\n"
      "  hybridscope lessons export --html site\n"
      "  hybridscope lessons export --html site align_boundary my_lesson.json\n"
      "\n"
      "Exit codes: 0 written, 1 an answer of a lesson is not the engine's, 2 usage or no such "
      "lesson,\n"
      "3 a lesson file that cannot be read, 4 a folder that cannot be written.");
  return {&app, [&options] { return export_lessons_command(options); }};
}

}  // namespace

std::function<int()> add_lessons_command(CLI::App& lessons, const Backends& backends) {
  lessons.require_subcommand(0, 1);
  lessons.footer(
      "Examples:\n"
      "  hybridscope lessons\n"
      "  hybridscope lessons run align_boundary\n"
      "  hybridscope lessons show graph_padding --answers\n"
      "  hybridscope lessons check my_lesson.json\n"
      "  hybridscope lessons export --html site\n"
      "\n"
      "Exit codes: 0 fine, 1 an answer of a lesson is not the engine's, 2 usage or no such "
      "lesson,\n"
      "3 a lesson file that cannot be read, 4 a folder that cannot be written.\n"
      "The file format: docs/workbench.md.");
  const auto options = std::make_shared<LessonsOptions>();
  options->make_site = backends.make_lesson_site;
  const auto run = run_given({add_list(lessons, *options), add_show(lessons, *options),
                              add_run(lessons, *options), add_check(lessons, *options),
                              add_export(lessons, *options)});
  return [options, run] { return run(); };
}

}  // namespace hybridscope
