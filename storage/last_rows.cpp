#include "storage/last_rows.h"

#include <algorithm>

namespace hybridscope {

LastRows::LastRows(ReadContext& context, const SessionHeader& header)
    : context_(context),
      loader_(context, header),
      step_before_(context, "SELECT max(step) FROM steps WHERE session = ? AND step < ?"),
      admission_(context,
                 "SELECT admission FROM rows WHERE session = ? AND step = ? AND request = ?"),
      preempted_(context,
                 "SELECT step FROM preemptions WHERE session = ? AND request = ? AND step <= ? "
                 "ORDER BY step DESC LIMIT 1"),
      last_row_(context,
                "SELECT step FROM rows WHERE session = ?1 AND request = ?2 AND step < ?3 AND "
                "step >= (SELECT first_step FROM requests WHERE session = ?1 AND request = ?2) "
                "AND row IS NOT NULL ORDER BY step DESC LIMIT 1") {}

std::int64_t LastRows::number(ReadStatement& query,
                              std::initializer_list<std::int64_t> parameters) {
  query.start(parameters);
  const std::int64_t found = query.step() ? sqlite3_column_int64(query.get(), 0) : 0;
  query.stop();
  return found;
}

void LastRows::take(std::int64_t step, std::optional<RequestId> only) {
  if (step == 0 || !loader_.load_rows_and_copies(step, record_)) return;
  const auto& rows = record_.trace.rows;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (!only || rows[r].request == *only)
      counts_[rows[r].request.value] = own_count_left(record_.trace, r);
}

// A request that was admitted for the first time has had no row; the last row of one that is
// admitted again came before it was preempted.
std::int64_t LastRows::find_last_row(RequestId request) {
  const std::int64_t session = context_.session;
  const auto admission =
      static_cast<Admission>(number(admission_, {session, step_, request.value}));
  if (admission == Admission::new_request) return 0;
  const std::int64_t preempted =
      admission == Admission::resumed ? number(preempted_, {session, request.value, step_}) : 0;
  return number(last_row_,
                {session, request.value, preempted > 0 ? std::min(preempted + 1, step_) : step_});
}

std::optional<OwnCount> LastRows::before(RequestId request, std::int64_t step) {
  if (step != step_) {
    counts_.clear();
    step_ = step;
    take(number(step_before_, {context_.session, step}));
  }
  if (!counts_.contains(request.value)) {
    counts_[request.value] = std::nullopt;
    take(find_last_row(request), request);
  }
  return counts_[request.value];
}

}  // namespace hybridscope
