#include "sessions/report/report_cells.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/ids.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {
namespace {

std::int32_t num_groups(const EngineConfig& config) {
  return static_cast<std::int32_t>(config.kv_cache_config.groups.size());
}

// "null-block", for CSS.
std::string css_word(std::string_view name) {
  std::string word(name);
  for (char& letter : word)
    if (letter == ' ') letter = '-';
  return word;
}

}  // namespace

std::int32_t cell_code(CellRole role, const CellUse& use) {
  return static_cast<std::int32_t>(role) + (use.read ? 16 : 0) + (use.written ? 32 : 0) +
         64 * static_cast<std::int32_t>(use.what);
}

nlohmann::json cell_code_words() {
  nlohmann::json roles = nlohmann::json::array();
  for (std::size_t i = 0; i < kNumCellRoles; ++i) {
    const auto role = static_cast<CellRole>(i);
    roles.push_back(
        {css_word(role_name(role)), std::string(1, role_letter(role)), role_meaning(role)});
  }
  nlohmann::json uses = nlohmann::json::object();
  for (int what = 0; what <= static_cast<int>(ForwardUse::padding); ++what)
    for (int marks = 0; marks < 4; ++marks) {
      const CellUse use{static_cast<ForwardUse>(what), (marks & 1) != 0, (marks & 2) != 0};
      uses[std::to_string(16 * marks + 64 * what)] = use_words(use);
    }
  return {{"roles", roles}, {"uses", uses}};
}

ReportCells::ReportCells(const EngineConfig& config)
    : config_(config),
      tables_(num_groups(config), config.kv_cache_config.num_blocks),
      worker_(num_groups(config)),
      views_(config),
      num_labels_(static_cast<std::size_t>(config.kv_cache_config.num_blocks)) {}

void ReportCells::apply_to_tables(const CacheEvent& event) {
  tables_.apply(event);
  if (event.kind != CacheEventKind::table_dropped) return;
  worker_.drop(event.request);
  told_.erase({event.request.value, event.group});
}

void ReportCells::apply_to_labels(const CacheEvent& event) {
  if (event.block < 0 || static_cast<std::size_t>(event.block) >= num_labels_.size()) return;
  std::int32_t& count = num_labels_[static_cast<std::size_t>(event.block)];
  if (event.kind == CacheEventKind::registered) ++count;
  if (event.kind == CacheEventKind::evicted) count = 0;
  // With num_tokens the block keeps the hashes of steps before.
  if (event.kind == CacheEventKind::withdrawn)
    count = event.num_tokens > 0 ? std::max(count - 1, 0) : 0;
}

// Tables are those before the commit, and labels those after it, as the workbench has them.
void ReportCells::take(const StepRecord& record) {
  for (const CacheEvent& event : pending_) apply_to_tables(event);
  for (const CacheEvent& event : record.trace.cache_events) {
    apply_to_tables(event);
    apply_to_labels(event);
  }
  for (const WorkerTableChange& change : record.worker_changes) worker_.apply(change);
  for (const CacheEvent& event : record.trace.commit_events) apply_to_labels(event);
  pending_.assign(record.trace.commit_events.begin(), record.trace.commit_events.end());
  trace_ = &views_.attach(record, worker_);
}

ReportCells::Codes ReportCells::codes_of(const ShownTable& table,
                                         const std::map<std::int32_t, CellUse>& uses) const {
  Codes codes;
  for (std::size_t column = 0; column < table.blocks.size(); ++column) {
    const std::int32_t block = table.blocks[column];
    const auto found = uses.find(static_cast<std::int32_t>(column));
    const CellUse use = found == uses.end() ? CellUse{} : found->second;
    const CellFacts facts{.block = block,
                          .is_registered = num_labels_[static_cast<std::size_t>(block)] > 0,
                          .num_holders = tables_.holders(block),
                          .use = use.what};
    const std::int32_t code = cell_code(role_of(facts), use);
    if (!codes.empty() && codes[codes.size() - 2] == code)
      ++codes.back();
    else
      codes.insert(codes.end(), {code, 1});
  }
  return codes;
}

nlohmann::json ReportCells::changed_codes() {
  nlohmann::json list = nlohmann::json::array();
  const std::vector<RequestId> requests = tables_.requests();
  for (std::int32_t group = 0; group < tables_.num_groups(); ++group) {
    std::vector<ShownTable> tables;
    for (const RequestId request : requests)
      tables.push_back({request, tables_.block_ids(request, group)});
    std::vector<std::map<std::int32_t, CellUse>> uses(tables.size());
    const KVCacheGroup& spec = config_.kv_cache_config.groups[static_cast<std::size_t>(group)];
    for (const GroupTrace& traced : trace_->groups) {
      if (traced.group != group) continue;
      for (const UsedCell& used : used_cells({.trace = *trace_,
                                  .group = traced,
                                  .mode = config_.mamba_cache_mode,
                                  .kept = states_kept(spec)},
                                             tables))
        uses[used.table][used.column] = used.use;
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
      Codes codes = codes_of(tables[i], uses[i]);
      Codes& told = told_[{tables[i].request.value, group}];
      if (codes == told) continue;
      for (const std::int32_t value :
           {tables[i].request.value, group, static_cast<std::int32_t>(codes.size() / 2)})
        list.push_back(value);
      for (const std::int32_t value : codes) list.push_back(value);
      told = std::move(codes);
    }
  }
  return list;
}

nlohmann::json ReportCells::assumed_groups() const {
  nlohmann::json groups = nlohmann::json::array();
  for (const GroupTrace& group : trace_->groups)
    if (group.is_mamba && replays_stale(*trace_, group)) groups.push_back(group.group);
  return groups;
}

namespace {

enum Op : std::int32_t { kSet, kSetAscending, kDrop, kLabel, kUnlabel };

// Collects consecutive columns of one table until flush().
class ColumnRun {
 public:
  explicit ColumnRun(nlohmann::json& ops) : ops_(ops) {}

  void set(std::int32_t request, std::int32_t group, std::int32_t column, std::int32_t block) {
    const bool goes_on = !blocks_.empty() && request == request_ && group == group_ &&
                         column == column_ + static_cast<std::int32_t>(blocks_.size());
    if (!goes_on) {
      flush();
      request_ = request;
      group_ = group;
      column_ = column;
    }
    blocks_.push_back(block);
  }

  void flush() {
    if (blocks_.empty()) return;
    bool ascending = blocks_.size() > 1;
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      ascending = ascending && blocks_[i] == blocks_[i - 1] + 1;
    append({ascending ? kSetAscending : kSet, request_, group_, column_,
            static_cast<std::int32_t>(blocks_.size())});
    if (ascending) blocks_.resize(1);
    append(blocks_);
    blocks_.clear();
  }

  void append(const std::vector<std::int32_t>& values) {
    for (const std::int32_t value : values) ops_.push_back(value);
  }

 private:
  nlohmann::json& ops_;
  std::int32_t request_ = -1;
  std::int32_t group_ = -1;
  std::int32_t column_ = -1;
  std::vector<std::int32_t> blocks_;
};

// One of several registrations was taken back.
bool keeps_a_label(const CacheEvent& event) {
  return event.kind == CacheEventKind::withdrawn && event.num_tokens > 0;
}

void append_event(const CacheEvent& event, ColumnRun& run) {
  const auto op = [&run](const std::vector<std::int32_t>& values) {
    run.flush();
    run.append(values);
  };
  switch (event.kind) {
    case CacheEventKind::column_set:
      run.set(event.request.value, event.group, event.column, event.block);
      break;
    case CacheEventKind::table_dropped: op({kDrop, event.request.value, event.group}); break;
    case CacheEventKind::registered:
      op({kLabel, event.block, event.request.value, event.group, event.num_tokens});
      break;
    case CacheEventKind::evicted:
    case CacheEventKind::withdrawn:
      if (!keeps_a_label(event)) op({kUnlabel, event.block});
      break;
    default: break;  // can be derived from the tables
  }
}

void set_column(std::vector<std::int32_t>& table, std::int32_t column, std::int32_t block) {
  const auto index = static_cast<std::size_t>(column);
  if (index >= table.size()) table.resize(index + 1, kNullBlock);
  table[index] = block;
}

}  // namespace

nlohmann::json block_ops(std::span<const CacheEvent> events) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const CacheEvent& event : events) append_event(event, run);
  run.flush();
  return ops;
}

nlohmann::json block_ops(std::span<const WorkerTableChange> changes) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const WorkerTableChange& change : changes)
    run.set(change.request.value, change.group, change.column, change.block);
  run.flush();
  return ops;
}

void BlockState::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    const Key key{event.request.value, event.group};
    switch (event.kind) {
      case CacheEventKind::column_set:
        set_column(scheduler_[key], event.column, event.block);
        break;
      case CacheEventKind::table_dropped:
        scheduler_.erase(key);
        worker_.erase(key);
        break;
      case CacheEventKind::registered: labels_[event.block] = {key, event.num_tokens}; break;
      case CacheEventKind::evicted:
      case CacheEventKind::withdrawn:
        if (!keeps_a_label(event)) labels_.erase(event.block);
        break;
      default: break;
    }
  }
}

void BlockState::apply(std::span<const WorkerTableChange> changes) {
  for (const WorkerTableChange& change : changes)
    set_column(worker_[{change.request.value, change.group}], change.column, change.block);
}

std::vector<RequestId> BlockState::requests() const {
  std::vector<RequestId> named;
  for (const Tables* tables : {&scheduler_, &worker_})
    for (const auto& [key, blocks] : *tables) named.push_back({key.request});
  for (const auto& [block, label] : labels_)
    if (label.key.request >= 0) named.push_back({label.key.request});
  return named;
}

nlohmann::json BlockState::table_ops(const Tables& tables) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const auto& [key, blocks] : tables)
    for (std::size_t column = 0; column < blocks.size(); ++column)
      run.set(key.request, key.group, static_cast<std::int32_t>(column), blocks[column]);
  run.flush();
  return ops;
}

nlohmann::json BlockState::scheduler_ops() const {
  nlohmann::json ops = table_ops(scheduler_);
  for (const auto& [block, label] : labels_)
    for (const std::int32_t value : {static_cast<std::int32_t>(kLabel), block, label.key.request,
                                     label.key.group, label.num_tokens})
      ops.push_back(value);
  return ops;
}

nlohmann::json BlockState::worker_ops() const { return table_ops(worker_); }

}  // namespace hybridscope
