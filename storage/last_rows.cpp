#include "storage/last_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/trace/schedule_trace.h"
#include "sessions/explain/explain_decision.h"
#include "storage/table_fields.h"

namespace hybridscope {
namespace {

// The rows of a step whose post-copy set their count to 1; `step` is an expression.
std::string resets_of(const std::string& step) {
  return "SELECT c.row FROM copy_decisions c WHERE c.session = ?1 AND c.step = " + step +
         " AND c.launch = 1 AND c.resets_accepted_count";
}

// The members of OwnCount, of the alias r of table rows.
std::string columns_of(const std::string& resets) {
  return "r.step, CASE WHEN r.row IN (" + resets +
         ") THEN 1 ELSE num_sampled_tokens END, row_class, num_computed_tokens, "
         "num_scheduled_tokens";
}

// Fills members that a field list visits from the columns of a row, in order.
struct RowReader {
  sqlite3_stmt* row = nullptr;
  int column = 0;
  template <class T>
  void operator()(std::string_view, T& member) {
    if constexpr (std::is_same_v<T, RequestId>)
      member.value = sqlite3_column_int(row, column++);
    else
      member = static_cast<T>(sqlite3_column_int(row, column++));
  }
};

// is_missing_copy() of the post-copies of a step.
std::string missing_copies() {
  return fmt::format(
      "SELECT {} FROM copy_decisions WHERE session = ?1 AND step = ?2 AND launch = 1 AND (outcome "
      "= {} OR (outcome = {} AND aligned_new_computed >= num_tokens_running_state))",
      fmt::join(field_names<CopyDecisionTrace>(fields::kDecision), ", "),
      static_cast<int>(StateCopyOutcome::same_column),
      static_cast<int>(StateCopyOutcome::no_boundary));
}

const std::string kStepBefore = "(SELECT max(step) FROM steps WHERE session = ?1 AND step < ?2)";

OwnCount count_of(sqlite3_stmt* row) {
  return {.step = sqlite3_column_int64(row, 0),
          .num_accepted_tokens = std::max(sqlite3_column_int(row, 1), 1),
          .row_class = static_cast<RowClass>(sqlite3_column_int(row, 2)),
          .num_computed_tokens = sqlite3_column_int(row, 3),
          .num_query_tokens = sqlite3_column_int(row, 4)};
}

}  // namespace

LastRows::LastRows(ReadContext& context)
    : context_(context),
      of_step_before_(context, "SELECT " + columns_of(resets_of(kStepBefore)) +
                                   ", request FROM rows r WHERE session = ?1 AND step = " +
                                   kStepBefore + " AND row IS NOT NULL"),
      admitted_(context,
                "SELECT request, admission, (SELECT step FROM preemptions p WHERE p.session = ?1 "
                "AND p.step <= ?2 AND p.request = r.request ORDER BY p.step DESC LIMIT 1) "
                "FROM rows r WHERE session = ?1 AND step = ?2 AND admission <> ?3"),
      of_request_(context, "SELECT " + columns_of(resets_of("r.step")) +
                               " FROM rows r WHERE session = ?1 AND step < ?2 AND step >= ?3 AND "
                               "request = ?4 AND row IS NOT NULL ORDER BY step DESC LIMIT 1"),
      missing_copies_(context, missing_copies()) {}

void LastRows::load(std::int64_t step) {
  counts_.clear();
  step_ = step;
  of_step_before_.start({context_.session, step});
  while (of_step_before_.step())
    counts_[sqlite3_column_int(of_step_before_.get(), 5)] = count_of(of_step_before_.get());
  of_step_before_.stop();
  load_admitted();
  std::set<std::int64_t> steps;
  for (const auto& [request, count] : counts_)
    if (count) steps.insert(count->step);
  for (const std::int64_t last : steps) load_missing_copies(last);
}

// Into the counts whose row the step has.
void LastRows::load_missing_copies(std::int64_t step) {
  missing_copies_.start({context_.session, step});
  while (missing_copies_.step()) {
    CopyDecisionTrace decided;
    RowReader reader{missing_copies_.get()};
    fields::kDecision(decided, reader);
    const auto known = counts_.find(decided.request.value);
    if (known != counts_.end() && known->second && known->second->step == step &&
        is_missing_copy(decided.decision))
      known->second->missing_copy = decided.decision;
  }
  missing_copies_.stop();
}

// A request that was admitted for the first time has had no row; the last row of one that was
// preempted came before that.
void LastRows::load_admitted() {
  struct Preempted {
    RequestId request{};
    std::int64_t step = 0;
  };
  std::vector<Preempted> preempted;
  admitted_.start({context_.session, step_, static_cast<std::int64_t>(Admission::running)});
  while (admitted_.step()) {
    const RequestId request{sqlite3_column_int(admitted_.get(), 0)};
    const auto admission = static_cast<Admission>(sqlite3_column_int(admitted_.get(), 1));
    const std::int64_t preempted_in = sqlite3_column_int64(admitted_.get(), 2);
    if (admission == Admission::new_request)
      counts_[request.value] = std::nullopt;
    else if (preempted_in > 0 && !counts_.contains(request.value))
      preempted.push_back({request, preempted_in});
  }
  admitted_.stop();
  for (const Preempted& of : preempted)
    counts_[of.request.value] = find(of.request, std::min(of.step + 1, step_), 0);
}

// From the last row in the steps from `first_step` up to the one before `before`.
std::optional<OwnCount> LastRows::find(RequestId request, std::int64_t before,
                                       std::int64_t first_step) {
  std::optional<OwnCount> found;
  of_request_.start({context_.session, before, first_step, request.value});
  if (of_request_.step()) found = count_of(of_request_.get());
  of_request_.stop();
  return found;
}

std::optional<OwnCount> LastRows::before(RequestId request, std::int64_t step,
                                         const std::function<std::int64_t()>& first_step) {
  if (step != step_) load(step);
  const auto known = counts_.find(request.value);
  if (known != counts_.end()) return known->second;
  const std::optional<OwnCount> found = find(request, step, first_step());
  if (context_.error) return found;
  counts_[request.value] = found;
  if (found) load_missing_copies(found->step);
  return counts_[request.value];
}

}  // namespace hybridscope
