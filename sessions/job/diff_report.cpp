#include "sessions/job/diff_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sessions/record/step_record.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxFieldsShown = 40;  // per step
constexpr std::size_t kMaxSummaryRows = 12;  // fields, requests

std::string label(const CollectedField& field) {
  return field.place.empty() ? field.field : fmt::format("{} ({})", field.field, field.place);
}

std::string steps_text(const CollectedStep& step) {
  return step.last_step == step.step ? fmt::format("step {}", step.step)
                                     : fmt::format("steps {} to {}", step.step, step.last_step);
}

// Why a step is on one side only.
std::string presence_text(const CollectedStep& step) {
  const bool only_a = step.presence == StepPresence::only_a;
  if (!step.tail) return fmt::format("Only {} has this step.", only_a ? "A" : "B");
  return fmt::format("{} has ended; {} goes on to step {} ({}).", only_a ? "B" : "A",
                     only_a ? "A" : "B", step.last_step, counted(step.num_steps, "step"));
}

void add_fields(const CollectedStep& step, std::size_t most, TextPage& page) {
  if (step.presence != StepPresence::both) {
    page.line(presence_text(step));
    return;
  }
  std::vector<std::vector<std::string>> rows;
  std::string_view request = "\n";
  for (const CollectedField& field : step.fields) {
    if (rows.size() == most) break;
    const std::string_view name =
        field.request.empty() ? "(step)" : std::string_view(field.request);
    rows.push_back(
        {name == request ? "" : std::string(name), label(field), field.a.text(), field.b.text()});
    request = name;
  }
  page.table({{"request"}, {"field"}, {"A"}, {"B"}}, rows);
  if (std::ranges::any_of(step.fields, [](const CollectedField& field) {
        return field.field.starts_with("digests.");
      }))
    page.line(
        "digests.: the section differs, but at this level the sessions keep only its digest; level "
        "full shows its fields");
  if (static_cast<std::int64_t>(rows.size()) < step.num_fields)
    page.line(fmt::format("{} of {} fields shown", rows.size(), grouped_number(step.num_fields)));
}

// `side`: "A", "B" or, of a decision that reads alike on both, "both" and "but".
void add_words(std::string_view side, const std::string& words, TextPage& page) {
  const std::string label = fmt::format("  {}", side);
  const std::size_t width = std::string_view(side.size() == 1 ? "  A" : "  both").size();
  bool first = true;
  for (const std::string_view line : split_text(words, '\n'))
    page.item(std::exchange(first, false) ? label : "", width, line);
}

void add_decisions(const CollectedDiff& collected, TextPage& page) {
  if (collected.decisions.empty()) return;
  page.heading("Decisions behind it");
  for (const DecisionPair& pair : collected.decisions) {
    std::string title =
        pair.request.empty() ? pair.subject : fmt::format("{}: {}", pair.request, pair.subject);
    if (!pair.source.empty()) title += fmt::format(" ({})", pair.source);
    page.line(title);
    if (pair.a == pair.b) {
      add_words("both", pair.a, page);
      if (!pair.differs.empty()) add_words("but", pair.differs, page);
      continue;
    }
    add_words("A", pair.a, page);
    add_words("B", pair.b, page);
  }
  if (static_cast<std::int64_t>(collected.decisions.size()) < collected.num_decisions)
    page.line(fmt::format("{} of {} decisions shown", collected.decisions.size(),
                          collected.num_decisions));
}

void add_findings(const CollectedDiff& collected, TextPage& page) {
  for (const bool is_a : {true, false}) {
    const auto& findings = is_a ? collected.findings_a : collected.findings_b;
    if (findings.empty()) continue;
    page.heading(fmt::format("Findings of {} alone", is_a ? "A" : "B"));
    for (const std::string& finding : findings) page.line(finding);
  }
}

void add_first(const DiffReport& report, TextPage& page) {
  const CollectedStep& first = report.collected.steps.front();
  std::string title = "First divergence: " + steps_text(first);
  if (!first.fields.empty() && !first.fields.front().request.empty())
    title += ", request " + first.fields.front().request;
  page.heading(title);
  add_fields(first, report.all ? kMaxCollectedFields : kMaxFieldsShown, page);
  add_decisions(report.collected, page);
  add_findings(report.collected, page);
}

// The commands are not wrapped, so that they can be copied.
std::string look_further(const DiffReport& report) {
  const CollectedStep& first = report.collected.steps.front();
  std::string text;
  for (const bool is_a : {true, false}) {
    const DiffReportSide& side = is_a ? report.a : report.b;
    const bool lacks = first.presence == (is_a ? StepPresence::only_b : StepPresence::only_a);
    if (side.look_further.empty() || lacks) continue;
    text += fmt::format("  {}\n", fmt::format(fmt::runtime(side.look_further), first.step));
  }
  return text.empty() ? text : "\nTo look further\n" + text;
}

void add_later(const DiffReport& report, TextPage& page) {
  const auto& steps = report.collected.steps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const CollectedStep& step = steps[i];
    if (!report.all && !step.tail) continue;
    page.heading(steps_text(step));
    add_fields(step, kMaxCollectedFields, page);
  }
  const auto total = report.summary.num_differences;
  if (report.all && static_cast<std::int64_t>(steps.size()) < total)
    page.line(fmt::format("{} of {} steps that differ shown (--limit)", steps.size(),
                          grouped_number(total)));
}

void add_counts(const std::vector<std::vector<std::string>>& all, std::string_view what,
                TextPage& page) {
  auto rows = all;
  if (rows.size() > kMaxSummaryRows) rows.resize(kMaxSummaryRows);
  page.table({{what}, {"differences", true}}, rows);
  if (rows.size() < all.size())
    page.line(fmt::format("{} of {} shown", rows.size(),
                          grouped_number(static_cast<std::int64_t>(all.size()))));
}

void add_summary(const DiffReport& report, TextPage& page) {
  const DiffSummary& summary = report.summary;
  page.heading("Summary");
  page.line(report.collected.complete ? summary.verdict()
                                      : "Stopped at the first divergence (--first).");
  if (!report.collected.complete) return;
  page.line(fmt::format("A has {} (to step {}), B {} (to step {}); {} of the {} that both have {}.",
                        counted(summary.num_steps_a, "step"), summary.last_step_a,
                        counted(summary.num_steps_b, "step"), summary.last_step_b,
                        grouped_number(summary.num_differing), grouped_number(summary.num_common),
                        summary.num_differing == 1 ? "differs" : "differ"));
  if (summary.num_fields == 0) return;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    if (summary.fields_by_section[s] > 0)
      rows.push_back({std::string(diff_section_name(static_cast<DiffSection>(s))),
                      grouped_number(summary.steps_by_section[s]),
                      grouped_number(summary.fields_by_section[s])});
  page.table({{"section"}, {"steps", true}, {"differences", true}}, rows);
  rows.clear();
  for (const FieldCount& count : count_by_field(summary))
    rows.push_back({fmt::format("{}.{}", count.list, count.field), grouped_number(count.count)});
  add_counts(rows, "field", page);
  rows.clear();
  for (const auto& [name, count] : report.by_request_name)
    rows.push_back({name, grouped_number(count)});
  if (summary.num_of_step > 0) rows.push_back({"(step)", grouped_number(summary.num_of_step)});
  add_counts(rows, "request", page);
}

void add_settings(const DiffReport& report, TextPage& page) {
  if (report.settings.empty()) return;
  page.heading("Settings that differ");
  std::vector<std::vector<std::string>> rows;
  for (const ConfigDifference& setting : report.settings)
    rows.push_back({setting.setting, setting.a, setting.b});
  page.table({{"setting"}, {"A"}, {"B"}}, rows);
}

// 'present' is a flag, all others are counts; -1 steps: it never finished.
std::string total_text(const TotalDifference& total, std::int64_t value) {
  if (total.field == kPresentField) return value != 0 ? "yes" : "-";
  if (total.field == "steps_until_finished" && value < 0) return "not finished";
  return grouped_number(value);
}

void add_totals(const DiffReport& report, TextPage& page) {
  page.heading("Requests");
  if (report.totals.empty()) {
    page.line(
        fmt::format("No difference in what {} got.", counted(report.num_requests, "request")));
    return;
  }
  std::vector<std::vector<std::string>> rows;
  std::string_view request = "\n";
  std::size_t shown = 0;
  for (const TotalDifference& total : report.totals) {
    const std::string_view name = total.request.empty() ? "(all)" : std::string_view(total.request);
    if (name != request && ++shown > report.limit) break;
    rows.push_back({name == request ? "" : std::string(name), total.field,
                    total_text(total, total.a), total_text(total, total.b)});
    request = name;
  }
  page.table({{"request"}, {"in all"}, {"A", true}, {"B", true}}, rows);
  if (rows.size() < report.totals.size())
    page.line(fmt::format("{} of {} differences shown (--limit)", rows.size(),
                          grouped_number(static_cast<std::int64_t>(report.totals.size()))));
}

constexpr std::size_t kMostTextsListed = 20;

void add_texts(const DiffReport& report, TextPage& page) {
  if (!report.texts) return;
  page.heading("Texts");
  if (report.texts->empty()) page.line("The language model says the same in both.");
  for (std::size_t i = 0; i < std::min(report.texts->size(), kMostTextsListed); ++i) {
    const DifferingText& text = (*report.texts)[i];
    page.line(text_difference_words(text));
    page.line(fmt::format("A \"{}\"", text.a));
    page.line(fmt::format("B \"{}\"", text.b));
  }
  if (report.texts->size() > kMostTextsListed)
    page.line(
        fmt::format("... and {} more (--json has all)", report.texts->size() - kMostTextsListed));
}

}  // namespace

std::string format_diff(const DiffReport& report) {
  TextPage page;
  for (const bool is_a : {true, false}) {
    const DiffReportSide& side = is_a ? report.a : report.b;
    page.title(fmt::format("{}  {} (level {})", is_a ? "A" : "B", side.title,
                           record_level_name(side.level)));
  }
  for (const std::string& note : report.notes) page.line(note);
  if (!report.ignored.empty())
    page.line(fmt::format("Ignored: {}", fmt::join(report.ignored, ", ")));
  add_settings(report, page);
  add_texts(report, page);
  if (report.by_request) {
    add_totals(report, page);
    return page.take();
  }
  std::string further;
  if (!report.collected.steps.empty()) {
    add_first(report, page);
    further = look_further(report);
  }
  TextPage rest;
  if (!report.collected.steps.empty()) add_later(report, rest);
  add_summary(report, rest);
  return page.take() + further + rest.take();
}

}  // namespace hybridscope
