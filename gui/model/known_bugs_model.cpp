#include "gui/model/known_bugs_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/engine/policy_table.h"
#include "gui/model/open_run.h"
#include "gui/model/palette_model.h"
#include "gui/model/workbench.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_report.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

KnownBugRow row_of(const BugExhibit& exhibit) {
  const KnownBug& bug = *exhibit.bug;
  KnownBugRow row{.id = std::string(bug.id),
                  .number = bug_number(bug),
                  .v1 = releases_text(bug.v1_releases),
                  .v2 = releases_text(bug.v2_releases),
                  .title = exhibit.title,
                  .words = {}};
  for (const PolicyValue& value : bug.values())
    row.words.push_back(fmt::format("{} = {}", policy_name(value), value_name(value)));
  row.words.push_back("Users saw: " + exhibit.users_saw);
  row.words.insert(row.words.end(), exhibit.mechanism.begin(), exhibit.mechanism.end());
  if (!exhibit.dates.empty()) row.words.push_back(exhibit.dates);
  return row;
}

bool passes(const KnownBugRow& row, std::string_view filter) {
  return contains(row.id, filter) || contains(row.title, filter) ||
         std::ranges::any_of(row.words,
                             [&](const std::string& words) { return contains(words, filter); });
}

// Built-in files, checked by tests; read once.
const std::vector<KnownBugRow>& all_rows() {
  static const std::vector<KnownBugRow> rows = [] {
    std::vector<KnownBugRow> made;
    for (const KnownBug& bug : known_bug_table())
      if (const auto exhibit = shipped_bug(bug.id); exhibit.ok())
        made.push_back(row_of(exhibit.value()));
    return made;
  }();
  return rows;
}

}  // namespace

std::vector<KnownBugRow> make_known_bugs_model(std::string_view filter) {
  const auto numbered = std::ranges::find(all_rows(), filter, &KnownBugRow::number);
  if (!filter.empty() && numbered != all_rows().end()) return {*numbered};
  std::vector<KnownBugRow> rows;
  for (const KnownBugRow& row : all_rows())
    if (passes(row, filter)) rows.push_back(row);
  return rows;
}

std::string bug_shown_by(const ShownRun* run) {
  if (run == nullptr) return {};
  const auto row = std::ranges::find(all_rows(), run->title(), &KnownBugRow::id);
  return row == all_rows().end() ? "" : row->id;
}

namespace {

constexpr std::array<ColumnWords, 5> kBugColumns = {{
    {"No.", "In the notes that docs/differences.md quotes"},
    {"V1", "When vLLM had it with runner V1: the first day without it", ColumnKind::words},
    {"V2", "When vLLM had it with runner V2: the first day without it", ColumnKind::words},
    {"What goes wrong", {}, ColumnKind::wrapped},
    {"Id", {}, ColumnKind::words, true},
}};

}  // namespace

Picture known_bugs_picture(Workbench& workbench) {
  const std::string& filter = workbench.options().known_bugs.filter;
  const std::vector<KnownBugRow> bugs = make_known_bugs_model(filter);
  const std::string shown = bug_shown_by(workbench.run());
  Picture picture{
      .notes = {"A click runs the bug beside its healthy run: left with the fault, right without "
                "it."},
      .fields = {{.mark = "known bugs filter",
                  .hint = "filter",
                  .text = filter,
                  .command = "bug.filter",
                  .if_empty = "bug.show_all"}}};
  Table table{.title = "Known bugs",
              .note = counted(std::ssize(bugs), "known bug"),
              .headings = headings_of(kBugColumns)};
  for (const KnownBugRow& bug : bugs) {
    TableRow& row = table.rows.emplace_back(TableRow{words_cell(bug.number), words_cell(bug.v1),
                                                     words_cell(bug.v2), words_cell(bug.title),
                                                     words_cell(bug.id)});
    row.mark = "bug " + bug.id;
    row.clicks = {{"bug.open", bug.id}};
    row.tooltip = bug.id;
    row.is_selected = bug.id == shown;
    if (!row.is_selected) continue;
    picture.notes.emplace_back(bug.id, Tone::normal, true);
    for (const std::string& words : bug.words) picture.notes.emplace_back(words, Tone::normal);
  }
  picture.tables.push_back(std::move(table));
  return picture;
}

}  // namespace hybridscope
