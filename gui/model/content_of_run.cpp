// Panels about requests, neighbouring steps and the run itself, as tables.
#include <fmt/core.h>

#include <algorithm>

#include "gui/model/content_cells.h"
#include "gui/model/finding_chains.h"
#include "gui/model/known_bugs_model.h"
#include "gui/model/next_step_model.h"
#include "gui/model/plan_model.h"
#include "gui/model/requests_model.h"
#include "gui/model/timeline_model.h"
#include "gui/model/workbench.h"
#include "sessions/lessons/lesson_reader.h"

namespace hybridscope {
namespace {

PanelContent requests(Workbench& workbench) {
  if (workbench.run()->level() == RecordLevel::counts)
    return {.notes = {std::string(kNoRequestsKept)}};
  const RequestsModel model = make_requests_model(*workbench.run(), workbench.options().requests);
  ContentTable table{.title = "Requests", .note = listed_words(model)};
  for (std::size_t i = 0; i < kNumRequestColumns; ++i)
    table.headings.emplace_back(request_column_words(static_cast<RequestColumn>(i)).title);
  for (const RequestRow& row : model.rows) {
    auto& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < kNumRequestColumns; ++i) {
      const auto column = static_cast<RequestColumn>(i);
      const bool is_words = column == RequestColumn::name || column == RequestColumn::state ||
                            column == RequestColumn::accepted;
      cells.push_back(is_words ? words_cell(request_text(row, column))
                               : known_cell(request_number(row, column)));
    }
  }
  return {.tables = {std::move(table)}};
}

// Requests down, steps across; above them the frame that returned, if it is a different one.
PanelContent timeline(Workbench& workbench) {
  const TimelineModel model = make_timeline_model(*workbench.run(), workbench.options().timeline);
  PanelContent content;
  add_note(content, model.known);
  add_note(content, model.note);
  if (model.lanes.empty()) add_note(content, kNoLanes);
  ContentTable table{.title = "Steps", .headings = {"Request"}};
  for (const TimelineColumn& column : model.columns)
    table.headings.push_back(fmt::format("{}", column.step));
  if (model.asynchronous) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(words_cell(kReturns));
    for (const TimelineColumn& column : model.columns)
      cells.push_back(column.committed_step > 0 ? number_cell(column.committed_step)
                                                : ContentCell());
  }
  for (std::size_t lane = 0; lane < model.lanes.size(); ++lane) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(words_cell(model.lanes[lane].name));
    for (std::size_t column = 0; column < model.columns.size(); ++column)
      cells.push_back(words_cell(model.columns[column].known ? model.at(lane, column).text : "?"));
  }
  content.tables.push_back(std::move(table));
  return content;
}

PanelContent findings(Workbench& workbench) {
  const ShownRun& run = *workbench.run();
  if (run.findings().empty()) return {.notes = {std::string(kNoFindings)}};
  ContentTable table{.title = "Findings", .headings = headings_of(kFindingColumns)};
  for (const FindingRow& row : finding_rows(run)) {
    const ShownFinding& shown = row.shown;
    const RequestId request = shown.finding.request;
    std::string words = finding_message(shown, run.names());
    if (!shown.decision.empty()) words = shown.decision + ": " + words;
    if (const std::string_view cause = workbench.cause_of(shown); !cause.empty())
      words += fmt::format("; {}", cause);
    table.rows.push_back(
        {number_cell(shown.finding.step),
         shown.finding.cause.kind == WriteKind::never ? ContentCell()
                                                      : number_cell(shown.finding.cause.step),
         words_cell(row.chain), words_cell(rule_info(shown.finding.rule).slug),
         request.value < 0 ? ContentCell() : words_cell(run.names().request(request)),
         words_cell(words)});
  }
  PanelContent content{.tables = {std::move(table)}};
  if (std::string note = findings_note(run); !note.empty())
    content.notes.push_back(std::move(note));
  return content;
}

PanelContent breakpoints(Workbench& workbench) {
  if (workbench.breakpoints().list().empty()) return {.notes = {std::string(kNoBreakpoints)}};
  ContentTable table{.title = "Breakpoints", .headings = headings_of(kBreakpointColumns)};
  for (const Breakpoint& breakpoint : workbench.breakpoints().list())
    table.rows.push_back({flag_cell(breakpoint.enabled), number_cell(breakpoint.hits()),
                          words_cell(breakpoint.condition.text())});
  return {.tables = {std::move(table)}};
}

PanelContent next_step(Workbench& workbench) {
  const NextStepModel model = make_next_step_model(workbench);
  if (!model.why_not.empty()) return {.notes = {model.why_not}};
  ContentTable planned{
      .title = fmt::format("Planned for step {}", model.step),
      .note = fmt::format("token budget {}, engine profile {}", model.planned.budget,
                          engine_profile_name(model.planned.profile)),
      .headings = {"What"}};
  for (const std::string& words : model.planned.words) planned.rows.push_back({words_cell(words)});
  ContentTable coming{.title = "If you just step", .headings = {"What"}};
  for (const std::string& words : model.coming) coming.rows.push_back({words_cell(words)});
  ContentTable requests{.title = fmt::format("Step {}", model.step),
                        .headings = {"Request", "In the batch", "Most accepted tokens"}};
  for (const EditableRequest& request : model.requests)
    requests.rows.push_back({words_cell(request.name), flag_cell(request.runs),
                             number_cell(request.max_num_accepted_tokens)});
  ContentTable policies{.title = "Policies", .headings = {"Policy", "Value", "Values", "What"}};
  for (const EditablePolicy& policy : model.policies) {
    std::string values;
    for (const std::string_view value : policy.values)
      values += fmt::format("{}{}", values.empty() ? "" : ", ", value);
    policies.rows.push_back({words_cell(policy.name), words_cell(policy.value), words_cell(values),
                             words_cell(policy.help)});
  }
  PanelContent content{
      .tables = {std::move(planned), std::move(coming), std::move(requests), std::move(policies)}};
  if (!model.undo.empty()) content.notes.push_back("Undo: " + model.undo);
  if (!model.redo.empty()) content.notes.push_back("Redo: " + model.redo);
  return content;
}

PanelContent lesson(Workbench& workbench) {
  if (workbench.lesson() == nullptr) {
    ContentTable names{.title = "Lessons", .note = std::string(kNoLesson), .headings = {"Lesson"}};
    for (const std::string_view name : shipped_lesson_names())
      names.rows.push_back({words_cell(name)});
    return {.tables = {std::move(names)}};
  }
  const LessonSession& session = *workbench.lesson();
  PanelContent content{.notes = {session.lesson().title, progress_words(session)}};
  for (const std::string& paragraph : session.part().text) content.notes.push_back(paragraph);
  ContentTable table{.title = "Questions",
                     .headings = {"Number", "Question", "Choices", "Answered"}};
  for (std::size_t i = 0; i < session.part().questions.size(); ++i) {
    const LessonQuestion& question = session.part().questions[i];
    std::string choices;
    for (const std::string& choice : offered_answers(question))
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", choice);
    table.rows.push_back({number_cell(static_cast<std::int64_t>(i) + 1), words_cell(question.ask),
                          words_cell(choices), words_cell(session.taken()[i].words)});
  }
  content.tables.push_back(std::move(table));
  return content;
}

PanelContent differences(Workbench& workbench) {
  const Comparison* comparison = workbench.comparison();
  if (comparison == nullptr) return {.notes = {std::string(kNothingCompared)}};
  ContentTable steps{.title = "Steps that differ", .headings = headings_of(kDifferingStepColumns)};
  for (const DifferingStep& step : comparison->steps())
    steps.rows.push_back({words_cell(step_words(step)), number_cell(step.num_fields),
                          words_cell(difference_words(step))});
  ContentTable fields{.title = fmt::format("Step {}", workbench.run()->step()),
                      .headings = headings_of(kDifferenceColumns)};
  const auto here =
      std::ranges::find(comparison->steps(), workbench.run()->step(), &DifferingStep::step);
  if (here != comparison->steps().end())
    for (const DifferenceLine& line : here->lines)
      fields.rows.push_back({words_cell(line.request.empty() ? kOfTheStep : line.request),
                             words_cell(line.field), words_cell(line.place), words_cell(line.a),
                             words_cell(line.b)});
  ContentTable settings{.title = std::string(kSettingsThatDiffer),
                        .headings = headings_of(kSettingColumns)};
  for (const ConfigDifference& setting : comparison->settings())
    settings.rows.push_back(
        {words_cell(setting.setting), words_cell(setting.a), words_cell(setting.b)});
  return {.notes = {comparison->sides(), comparison->words()},
          .tables = {std::move(settings), std::move(steps), std::move(fields)}};
}

PanelContent explanation(Workbench& workbench) { return {.text = step_in_words(*workbench.run())}; }

PanelContent known_bugs(Workbench&) {
  ContentTable table{.title = "Known bugs", .headings = headings_of(kKnownBugColumns)};
  for (const KnownBugRow& row : make_known_bugs_model())
    table.rows.push_back({words_cell(row.number), words_cell(row.v1), words_cell(row.v2),
                          words_cell(row.title), words_cell(row.id)});
  return {.tables = {std::move(table)}};
}

PanelContent plan(Workbench& workbench) {
  if (workbench.plan_results() == nullptr) return {.notes = {std::string(kNoPlan)}};
  const PlanModel model = make_plan_model(*workbench.plan_results(), workbench.options().plan);
  PanelContent content{.notes = {model.heading}};
  if (!model.recommended.empty()) content.notes.push_back("Recommended: " + model.recommended);
  for (const std::string& reason : model.reasons) content.notes.push_back(reason);
  for (const std::string& refused : model.refused) content.notes.push_back(refused);
  ContentTable table{.title = "Combinations", .headings = headings_of(model.columns)};
  table.headings.front() = "Mark";
  for (const PlanRow& row : model.rows) {
    std::vector<ContentCell>& cells = table.rows.emplace_back();
    for (const PlanCell& cell : row.cells)
      cells.push_back(cell.number ? number_cell(*cell.number) : words_cell(cell.text));
  }
  content.tables.push_back(std::move(table));
  return content;
}

constexpr ContentRow kRunContents[] = {{"requests", requests},       {"timeline", timeline},
                                       {"findings", findings},       {"breakpoints", breakpoints},
                                       {"next_step", next_step},     {"lesson", lesson},
                                       {"known_bugs", known_bugs},   {"plan", plan, true},
                                       {"differences", differences}, {"explanation", explanation}};

}  // namespace

std::span<const ContentRow> run_contents() { return kRunContents; }

}  // namespace hybridscope
