#include "gui/model/known_bugs_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/engine/policy_table.h"
#include "gui/model/fuzzy_match.h"
#include "gui/model/open_run.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_report.h"

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

}  // namespace hybridscope
