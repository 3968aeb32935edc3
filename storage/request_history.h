// When the requests of a session come, are admitted and leave, and which steps tell what counts a
// request was left with: read without reading steps whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/trace/step_trace.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class RequestHistory {
 public:
  // `context` must outlive this. Errors of all functions go to it.
  explicit RequestHistory(ReadContext& context);

  // Calls `take` for each step after `after` in which a request comes, is admitted, is aborted or
  // finishes, in order. The trace has only the step's number, the commands that add or abort a
  // request, what was scheduled and looked up of requests that the step admits, and the commits
  // that finish a request. Needs level blocks; at level counts only commands are known.
  void each_change(std::int64_t after, const std::function<void(const StepTrace&)>& take);

  // The steps from which the request's counts at the end of `step` follow, ascending: its last row
  // up to there, the return of that row's frame, and preemptions since. `admitted`: the step that
  // admitted it last. Empty: it has had no row.
  std::vector<std::int64_t> counting_steps(RequestId request, std::int64_t admitted,
                                           std::int64_t step);

 private:
  RequestId request_of(ReadStatement& row, int column);

  ReadContext& context_;
  ReadStatement last_row_;
  ReadStatement return_;
  ReadStatement preemptions_;
};

}  // namespace hybridscope
