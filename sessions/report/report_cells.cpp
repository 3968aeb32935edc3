#include "sessions/report/report_cells.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace hybridscope
