#include "gui/model/selection.h"

#include <algorithm>
#include <utility>

#include "gui/model/shown_run.h"

namespace hybridscope {

std::int32_t block_of_cell(const ShownRun& run, const Selection& cell) {
  if (run.step() == 0 || cell.request.value < 0) return -1;
  const StepView view = run.view();
  if (cell.group < 0 || cell.group >= view.scheduler_tables.num_groups() || cell.column < 0)
    return -1;
  const auto ids = cell.side == TableSide::worker
                       ? view.worker_tables.block_ids(cell.request, cell.group)
                       : view.scheduler_tables.block_ids(cell.request, cell.group);
  const auto at = static_cast<std::size_t>(cell.column);
  return at < ids.size() ? ids[at] : -1;
}

namespace {

struct Holder {
  RequestId request{};
  std::int32_t group = -1;
};

// By the scheduler's tables; `wanted` if it holds the block. Request -1: no request holds it.
Holder holder_of(const ShownRun& run, std::int32_t block, RequestId wanted) {
  Holder found;
  if (run.step() == 0) return found;
  const StepView view = run.view();
  if (block <= kNullBlock || block >= view.scheduler_tables.num_blocks() ||
      view.scheduler_tables.holders(block) == 0)
    return found;
  for (const RequestId request : view.scheduler_tables.requests())
    for (std::int32_t group = 0; group < view.scheduler_tables.num_groups(); ++group) {
      const auto ids = view.scheduler_tables.block_ids(request, group);
      if (std::ranges::find(ids, block) == ids.end()) continue;
      if (found.request.value < 0 || request == wanted) found = {request, group};
    }
  return found;
}

}  // namespace

Selection with_block(const ShownRun& run, Selection chosen, std::int32_t block) {
  const bool of_the_cell = block_of_cell(run, chosen) == block;
  chosen.block = block;
  chosen.is_cell = false;
  if (of_the_cell) return chosen;
  const Holder holder = holder_of(run, block, chosen.request);
  chosen.request = holder.request;
  chosen.request_name = holder.request.value < 0 ? "" : run.names().request(holder.request);
  chosen.group = holder.group;
  chosen.column = -1;
  return chosen;
}

Selection with_request(Selection chosen, std::string name) {
  if (chosen.request_name == name) return chosen;
  chosen.request_name = std::move(name);
  chosen.column = -1;
  chosen.block = -1;
  chosen.is_cell = false;
  return chosen;
}

Selection selection_in(const ShownRun& run, const Selection& chosen) {
  Selection here = chosen;
  here.finding = -1;
  here.request = run.find_request(chosen.request_name);
  if (chosen.is_cell) here.block = block_of_cell(run, here);
  return here;
}

}  // namespace hybridscope
