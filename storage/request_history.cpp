#include "storage/request_history.h"

#include <fmt/core.h>

#include <algorithm>

#include "sessions/record/enum_codes.h"

namespace hybridscope {
namespace {

// Every query's first column is the step; ?1 is the session, ?2 the step after which it begins.
constexpr const char* kCommands =
    "SELECT step, command, request FROM commands WHERE session = ?1 AND step > ?2 "
    "AND outcome = ?3 AND command IN (?4, ?5) ORDER BY step, ordinal";
// A lookup is found before its row: the rows of other steps are not read.
constexpr const char* kAdmissions =
    "SELECT l.step, r.request, r.admission, r.num_hit_tokens, r.num_prompt_tokens, "
    "l.num_hit_tokens, l.longest_hit_length FROM lookups l CROSS JOIN rows r "
    "ON r.session = l.session AND r.step = l.step AND r.request = l.request "
    "WHERE l.session = ?1 AND l.step > ?2 AND l.admitted = 1 ORDER BY l.step, l.ordinal";
constexpr const char* kEnds =
    "SELECT s.step, c.request FROM steps s CROSS JOIN commits c "
    "ON c.session = s.session AND c.step = s.step "
    "WHERE s.session = ?1 AND s.step > ?2 AND s.num_finished > 0 AND c.finished = 1 "
    "ORDER BY s.step";

// The rows of a query, one step after the other.
class StepRows {
 public:
  StepRows(ReadContext& context, const char* sql, std::initializer_list<std::int64_t> parameters)
      : statement_(context, sql) {
    statement_.start(parameters);
    advance();
  }
  std::int64_t step() const { return step_; }  // of the row; the largest number: none is left
  ReadStatement& row() { return statement_; }
  void advance() {
    step_ = statement_.step() ? sqlite3_column_int64(statement_.get(), 0)
                              : std::numeric_limits<std::int64_t>::max();
  }

 private:
  ReadStatement statement_;
  std::int64_t step_ = 0;
};

}  // namespace

RequestHistory::RequestHistory(ReadContext& context)
    : context_(context),
      last_row_(context,
                "SELECT step FROM rows WHERE session = ?1 AND request = ?2 AND step >= ?3 "
                "AND step <= ?4 ORDER BY step DESC LIMIT 1"),
      return_(context,
              "SELECT step FROM steps WHERE session = ?1 AND step >= ?2 AND step <= ?3 "
              "AND committed_step >= ?2 ORDER BY step LIMIT 1"),
      preemptions_(context,
                   "SELECT step FROM preemptions WHERE session = ?1 AND request = ?2 "
                   "AND step > ?3 AND step <= ?4 ORDER BY step") {}

RequestId RequestHistory::request_of(ReadStatement& row, int column) {
  const RequestId request{sqlite3_column_int(row.get(), column)};
  if (request.value < 0 || request.value >= context_.num_requests)
    context_.fail(ErrorKind::corrupt, fmt::format("step {}: request {}, expected 0 to {}",
                                                  sqlite3_column_int64(row.get(), 0), request.value,
                                                  context_.num_requests - 1));
  return request;
}

void RequestHistory::each_change(std::int64_t after,
                                 const std::function<void(const StepTrace&)>& take) {
  const auto code = [](auto value) { return static_cast<std::int64_t>(value); };
  StepRows commands(context_, kCommands,
                    {context_.session, after, code(CommandOutcome::done),
                     code(CommandKind::add_request), code(CommandKind::abort)});
  StepRows admissions(context_, kAdmissions, {context_.session, after});
  StepRows ends(context_, kEnds, {context_.session, after});
  StepTrace trace;
  while (!context_.error) {
    trace.clear();
    trace.step = std::min({commands.step(), admissions.step(), ends.step()});
    if (trace.step == std::numeric_limits<std::int64_t>::max()) return;
    for (; commands.step() == trace.step; commands.advance())
      trace.commands.push_back(
          {.command = static_cast<CommandKind>(sqlite3_column_int(commands.row().get(), 1)),
           .request = request_of(commands.row(), 2)});
    for (; admissions.step() == trace.step; admissions.advance()) {
      sqlite3_stmt* row = admissions.row().get();
      ScheduledTrace& scheduled = trace.scheduled.emplace_back();
      scheduled.request = request_of(admissions.row(), 1);
      const int admission = sqlite3_column_int(row, 2);
      if (admission <= 0 || admission >= num_codes<Admission>())
        context_.fail(ErrorKind::corrupt, fmt::format("step {}: rows.admission: {} of a request "
                                                      "that the step admits",
                                                      trace.step, admission));
      else
        scheduled.admission = static_cast<Admission>(admission);
      scheduled.num_hit_tokens = sqlite3_column_int(row, 3);
      scheduled.num_prompt_tokens = sqlite3_column_int(row, 4);
      AdmissionLookup& lookup = trace.lookups.emplace_back();
      lookup.request = scheduled.request;
      lookup.admitted = true;
      lookup.num_hit_tokens = sqlite3_column_int(row, 5);
      lookup.explanation.longest_hit_length = sqlite3_column_int(row, 6);
    }
    for (; ends.step() == trace.step; ends.advance()) {
      CommitTrace& commit = trace.committed.emplace_back();
      commit.request = request_of(ends.row(), 1);
      commit.finished = true;
    }
    if (!context_.error) take(trace);
  }
}

std::vector<std::int64_t> RequestHistory::counting_steps(RequestId request, std::int64_t admitted,
                                                         std::int64_t step) {
  const auto steps_of = [](ReadStatement& query, std::initializer_list<std::int64_t> parameters) {
    std::vector<std::int64_t> steps;
    query.start(parameters);
    while (query.step()) steps.push_back(sqlite3_column_int64(query.get(), 0));
    query.stop();
    return steps;
  };
  const std::int64_t session = context_.session;
  // A reset may preempt a request in the step that admits it again, before it does.
  std::vector<std::int64_t> steps =
      steps_of(preemptions_, {session, request.value, admitted, step});
  // A preempted request has no row before it is admitted again.
  const std::int64_t last = steps.empty() ? step : steps.front();
  const auto rows = steps_of(last_row_, {session, request.value, admitted, last});
  if (rows.empty()) return {};
  for (const std::int64_t more : steps_of(return_, {session, rows.front(), step}))
    steps.push_back(more);
  steps.push_back(rows.front());
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace hybridscope
