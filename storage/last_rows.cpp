#include "storage/last_rows.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

// The members of OwnCount, of the alias r of table rows.
const std::string kColumns =
    "step, CASE WHEN EXISTS (SELECT 1 FROM copy_decisions c WHERE c.session = r.session AND "
    "c.step = r.step AND c.launch = 1 AND c.row = r.row AND c.resets_accepted_count) THEN 1 ELSE "
    "num_sampled_tokens END, row_class, num_computed_tokens, num_scheduled_tokens";

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
      of_step_before_(context, "SELECT " + kColumns +
                                   ", request FROM rows r WHERE session = ?1 AND step = (SELECT "
                                   "max(step) FROM steps WHERE session = ?1 AND step < ?2) AND "
                                   "row IS NOT NULL"),
      of_request_(context, "SELECT " + kColumns +
                               " FROM rows r WHERE session = ? AND step < ? AND step >= ? AND "
                               "request = ? AND row IS NOT NULL ORDER BY step DESC LIMIT 1") {}

void LastRows::load(std::int64_t step) {
  counts_.clear();
  step_ = step;
  of_step_before_.start({context_.session, step});
  while (of_step_before_.step())
    counts_[sqlite3_column_int(of_step_before_.get(), 5)] = count_of(of_step_before_.get());
  of_step_before_.stop();
}

std::optional<OwnCount> LastRows::before(RequestId request, std::int64_t step,
                                         const std::function<std::int64_t()>& first_step) {
  if (step != step_) load(step);
  const auto known = counts_.find(request.value);
  if (known != counts_.end()) return known->second;
  std::optional<OwnCount> found;
  of_request_.start({context_.session, step, first_step(), request.value});
  if (of_request_.step()) found = count_of(of_request_.get());
  of_request_.stop();
  if (!context_.error) counts_[request.value] = found;
  return found;
}

}  // namespace hybridscope
