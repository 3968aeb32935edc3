#include "gui/web/lesson_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "gui/model/content_render.h"
#include "gui/model/lesson_session.h"
#include "gui/model/live_run.h"
#include "gui/model/panel_infos.h"
#include "gui/model/workbench.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// Where a question offers no choices, mistakes by one or two get the engine's reply too.
constexpr std::array<std::int64_t, 4> kNearMisses = {-2, -1, 1, 2};

// The answers that a page offers: the choices of the question, or all values of its field. Empty:
// any number.
std::vector<std::string> offered_in_page(const Lesson& lesson, const LessonQuestion& question,
                                         const BreakField& field) {
  std::vector<std::string> offered = offered_answers(question);
  if (!offered.empty()) return offered;
  switch (field.type) {
    case BreakType::flag: return {"yes", "no"};
    case BreakType::word: return {field.words.begin(), field.words.end()};
    case BreakType::request:
      for (const ScenarioRequest& request : lesson.scenario.requests) offered.push_back(request.id);
      return offered;
    case BreakType::number: break;
  }
  return offered;
}

// The right number, those beside it, and the mistakes that the lesson names.
std::vector<std::string> foreseen_numbers(const EngineAnswer& engine) {
  const std::string& right = engine.words;
  std::int64_t number = 0;
  std::from_chars(right.data(), right.data() + right.size(), number);
  std::vector<std::string> foreseen = {right};
  for (const std::int64_t miss : kNearMisses)
    if (number < 0 || number + miss >= 0) foreseen.push_back(std::to_string(number + miss));
  for (const LessonMistake& mistake : engine.mistakes)
    if (std::ranges::find(foreseen, mistake.answer) == foreseen.end())
      foreseen.push_back(mistake.answer);
  return foreseen;
}

// A question of the open part with the reply to each foreseen answer.
Result<Json> question_data(const LessonRun& run, std::size_t number) {
  const LessonQuestion& question = run.part().questions[number];
  const auto query = BreakQuery::parse(question.value, question.where);
  if (!query.ok()) return query.error();
  const Result<EngineAnswer>& engine = run.answer_of(number);
  if (!engine.ok()) return engine.error();
  const BreakField& field = query.value().field();
  const auto offered = offered_in_page(run.lesson(), question, field);
  Json data = {{"ask", question.ask},
               {"expected", answer_kind(field)},
               {"choices", offered},
               {"right", engine.value().words},
               {"replies", Json::object()},
               {"other", fmt::format("The engine's answer is {}. {}", engine.value().words,
                                     engine.value().because)}};
  for (const std::string& answer : offered.empty() ? foreseen_numbers(engine.value()) : offered) {
    const auto checked = run.check(number, answer);
    if (!checked.ok()) return checked.error();
    data["replies"][answer] = checked.value().words;
  }
  return data;
}

void add_setting(Json& words, const std::string& name, const Json& value) {
  if (!value.is_object()) {
    words.push_back(
        fmt::format("{}: {}", name, value.is_string() ? value.get<std::string>() : value.dump()));
    return;
  }
  for (const auto& [key, member] : value.items())
    add_setting(words, fmt::format("{}.{}", name, key), member);
}

// "mamba_cache_mode: all", "policies.null_rows: run".
Json settings_words(const EngineSettings& settings) {
  Json words = Json::array();
  const Json json = settings_to_json(settings);
  for (const auto& [name, value] : json.items()) add_setting(words, name, value);
  return words;
}

// A run of the lesson: the parts that change nothing or the same settings share one.
struct SharedRun {
  const LessonPart* first = nullptr;
  std::int64_t last_step = 0;  // that a part is about
};

class DataMaker {
 public:
  explicit DataMaker(LessonRun run) : run_(std::move(run)) {}

  Result<Json> make() {
    const Lesson& lesson = run_.lesson();
    Json parts = Json::array();
    for (std::size_t part = 0; part < lesson.parts.size(); ++part) {
      auto data = part_data(part);
      if (!data.ok()) return data.error();
      parts.push_back(std::move(data).value());
    }
    Json runs = Json::array();
    for (const SharedRun& shared : runs_) {
      auto data = run_data(shared);
      if (!data.ok()) return data.error();
      runs.push_back(std::move(data).value());
    }
    const std::string digest =
        fmt::format("{:016x}", hash_name(NameKind::text, questions_of(parts).dump()));
    return Json{{"name", lesson.name},     {"title", lesson.title},
                {"digest", digest},        {"questions", num_questions(lesson)},
                {"parts", parts},          {"runs", runs},
                {"legend", legend_data()}, {"panels", panel_names()}};
  }

 private:
  static Json questions_of(const Json& parts) {
    Json questions = Json::array();
    for (const Json& part : parts) questions.push_back(part["questions"]);
    return questions;
  }

  static Json panel_names() {
    Json names = Json::array();
    for (const PanelInfo& panel : panel_infos()) {
      const auto shown = lesson_panels();
      if (std::ranges::find(shown, panel.id) != shown.end() || panel.id == "explanation")
        names.push_back({{"id", panel.id}, {"title", panel.title}, {"help", panel.help}});
    }
    return names;
  }

  std::size_t run_of(const LessonPart& part) {
    auto found = std::ranges::find_if(
        runs_, [&](const SharedRun& run) { return run.first->settings == part.settings; });
    if (found == runs_.end()) found = runs_.insert(runs_.end(), {.first = &part});
    found->last_step = std::max(found->last_step, part.step);
    return static_cast<std::size_t>(found - runs_.begin());
  }

  Result<Json> part_data(std::size_t number) {
    if (Status gone = run_.go_to_part(number); !gone.ok()) return gone.error();
    const LessonPart& part = run_.part();
    Json data = {{"run", run_of(part)},
                 {"step", part.step},
                 {"predict", part.predict},
                 {"text", part.text},
                 {"panel", part.show.panel},
                 {"request", part.show.request},
                 {"group", part.show.group.value_or(-1)},
                 {"column", part.show.column.value_or(-1)},
                 {"questions", Json::array()}};
    for (std::size_t i = 0; i < part.questions.size(); ++i) {
      auto question = question_data(run_, i);
      if (!question.ok()) return question.error();
      data["questions"].push_back(std::move(question).value());
    }
    return data;
  }

  // The run is only ever known up to the step that is shown, as for somebody who steps.
  Result<Json> run_data(const SharedRun& shared) const {
    auto plan = plan_lesson(run_.lesson(), *shared.first);
    if (!plan.ok()) return plan.error();
    auto run = LiveRun::create(std::move(plan).value());
    if (!run.ok()) return run.error();
    Workbench workbench(panel_infos());
    workbench.open(std::move(run).value());
    Json steps = Json::array();
    const std::int64_t most = std::max(kMostLessonSteps, shared.last_step);
    bool whole = false;
    while (workbench.run()->step() < most) {
      const auto moved = workbench.run()->forward();
      if (!moved.ok()) return moved.error();
      whole = !moved.value();
      if (whole) break;
      workbench.select({.group = shared.first->show.group.value_or(-1),
                        .request_name = shared.first->show.request});
      steps.push_back(step_data(workbench));
    }
    return Json{{"settings", settings_words(shared.first->settings)},
                {"whole", whole},
                {"steps", std::move(steps)}};
  }

  LessonRun run_;
  std::vector<SharedRun> runs_;
};

}  // namespace

Result<Json> lesson_data(const Lesson& lesson) {
  auto run = LessonRun::create(lesson);
  if (!run.ok()) return run.error();
  return DataMaker(std::move(run).value()).make();
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kInWords = "explanation";

// What the window offers for copying.
Json content_data(const Picture& content) {
  Json data = Json::object();
  for (const Note& note : content.notes) data["notes"].push_back(note.text);
  if (!content.text.empty()) data["text"] = content.text;
  for (const Table& table : content.tables) data["tables"].push_back(table_data(table));
  return data;
}

// The first table of a panel that is drawn besides.
Json with_first_table(Json drawn, const Picture& content) {
  if (!content.tables.empty()) drawn["tables"] = Json::array({table_data(content.tables.front())});
  for (const Note& note : content.notes) drawn["notes"].push_back(note.text);
  return drawn;
}

Json panel_data(Workbench& workbench, std::string_view panel) {
  ShownRun& run = *workbench.run();
  if (panel == "block_tables") return block_tables_data(run);
  const Picture content = workbench.view().find_panel(panel)->make(workbench);
  if (panel == "state_copies") return with_first_table(copies_data(run), content);
  return content_data(content);
}

// "1 error, 2 warnings"; empty: nothing was found.
std::string found_words(const StepView& view) {
  if (view.findings.empty()) return {};
  const auto errors = std::ranges::count_if(view.findings, [](const Finding& finding) {
    return rule_info(finding.rule).severity == Severity::error;
  });
  return fmt::format("{}, {}", counted(errors, "error"),
                     counted(std::ssize(view.findings) - errors, "warning"));
}

bool has_error(const StepView& view) {
  return std::ranges::any_of(view.findings, [](const Finding& finding) {
    return rule_info(finding.rule).severity == Severity::error;
  });
}

}  // namespace

Json table_data(const Table& table) {
  Json data = {{"title", table.title}, {"head", Json::array()}, {"rows", Json::array()}};
  if (!table.note.empty()) data["note"] = table.note;
  for (const Strip& strip : table.strips) data["strips"].push_back(strip_data(strip));
  const std::vector<std::size_t> columns = copied_columns(table);
  for (const std::size_t column : columns) data["head"].push_back(table.headings[column].title);
  for (const TableRow& row : table.rows) {
    Json cells = Json::array();
    for (const std::size_t column : columns) {
      const TableCell& cell = row.cells[column];
      if (cell.extras == nullptr || cell.extras->pieces.empty()) {
        cells.push_back(cell_json(cell));
        continue;
      }
      Json pieces = Json::array();
      for (const ValuePiece& piece : cell.extras->pieces) pieces.push_back(piece_data(piece));
      cells.push_back(std::move(pieces));
    }
    data["rows"].push_back(std::move(cells));
  }
  return data;
}

Json step_data(Workbench& workbench) {
  Json panels = Json::object();
  for (const std::string_view panel : lesson_panels())
    panels[std::string(panel)] = panel_data(workbench, panel);
  panels[std::string(kInWords)] = panel_data(workbench, kInWords);
  const StepView view = workbench.run()->view();
  return {{"step", view.trace.step},
          {"found", found_words(view)},
          {"has_error", has_error(view)},
          {"panels", panels}};
}

}  // namespace hybridscope
