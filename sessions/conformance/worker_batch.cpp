#include "sessions/conformance/worker_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace hybridscope {

// The batch keeps no block tables: lists by name are compared.
WorkerBatch::WorkerBatch(const EngineConfig& config)
    : config_(config), rows_(config.max_num_seqs, {}) {}

void WorkerBatch::leave(const std::string& name) {
  const RequestId id = requests_.id(name);
  if (rows_.row_of(id) >= 0) rows_.remove(id);
}

void WorkerBatch::take(const ReplayedRequest& request) {
  Known& known = known_[request.name];
  known.num_computed_tokens = request.num_computed_tokens;
  if (request.admission != Admission::running) {
    known.block_ids = request.block_ids;
    return;
  }
  const GroupBlockIds added = request.new_block_ids();
  known.block_ids.resize(added.size());
  for (std::size_t group = 0; group < added.size(); ++group)
    known.block_ids[group].insert(known.block_ids[group].end(), added[group].begin(),
                                  added[group].end());
}

void WorkerBatch::update(const ReplayedSchedule& schedule) {
  for (const std::string& name : schedule.finished) {
    leave(name);
    known_.erase(name);
  }
  std::set<std::string> staying;
  for (const ReplayedRequest& request : schedule.scheduled)
    if (request.admission == Admission::running) staying.insert(request.name);
  for (const std::string& name : row_names())
    if (!staying.contains(name)) leave(name);

  for (const ReplayedRequest& request : schedule.scheduled) take(request);
  for (const bool new_requests : {true, false})
    for (const ReplayedRequest& request : schedule.scheduled) {
      const RequestId id = requests_.id(request.name);
      names_[id] = request.name;
      if ((request.admission == Admission::new_request) == new_requests && rows_.row_of(id) < 0)
        rows_.add(id);
    }
  rows_.condense();
}

std::vector<std::string> WorkerBatch::row_names() const {
  std::vector<std::string> names;
  for (const BatchRow& row : rows_.rows())
    if (row.request != RequestId{}) names.push_back(names_.at(row.request));
  return names;
}

void WorkerBatch::check(const VectorValue& call) const {
  const std::vector<std::string> names = row_names();
  const VectorValue req_ids = call["req_ids"];
  if (req_ids.strings() != names)
    req_ids.fail(fmt::format("what was scheduled leads to the rows {}", names));

  const VectorValue accepted = call["num_accepted_tokens_cpu"];
  const VectorValue computed = call["num_computed_tokens"];
  const VectorValue block_ids = call["block_ids"];
  for (std::size_t row = 0; row < names.size(); ++row) {
    const Known& known = known_.at(names[row]);
    if (accepted[row].int32() != rows_.rows()[row].num_accepted_tokens)
      accepted[row].fail(
          fmt::format("the steps before lead to {}", rows_.rows()[row].num_accepted_tokens));
    if (computed[names[row]].int32() != known.num_computed_tokens)
      computed[names[row]].fail(
          fmt::format("the scheduler reported {}", known.num_computed_tokens));
    const VectorValue lists = block_ids[names[row]];
    if (lists.size() != known.block_ids.size())
      lists.fail(fmt::format("expected lists of {} groups", known.block_ids.size()));
    for (std::size_t group = 0; group < known.block_ids.size(); ++group) {
      const bool is_mamba = config_.kv_cache_config.groups[group].is_mamba();
      if (lists[group].int32s() !=
          (is_mamba ? known.block_ids[group] : std::vector<std::int32_t>{}))
        lists[group].fail(fmt::format("the scheduler reported {}", known.block_ids[group]));
    }
  }
}

void WorkerBatch::set_num_accepted_tokens(std::span<const std::int32_t> num_accepted_tokens) {
  for (std::size_t row = 0; row < rows_.rows().size(); ++row)
    rows_.row(static_cast<std::int32_t>(row)).num_accepted_tokens = num_accepted_tokens[row];
}

}  // namespace hybridscope
