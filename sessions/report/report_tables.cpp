#include "sessions/report/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sessions/explain/explain_finding.h"
#include "sessions/page/page_parts.h"

namespace hybridscope {
namespace {

// What stands in a cell that a copy or a finding is about.
constexpr std::string_view kSource = "→";
constexpr std::string_view kDestination = "←";
constexpr std::string_view kFinding = "!";

}  // namespace

ReportTables::ReportTables(const EngineConfig& config, const Names& names)
    : config_(config),
      names_(names),
      tables_(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
              config.kv_cache_config.num_blocks),
      worker_(tables_.num_groups()),
      views_(config),
      labels_(static_cast<std::size_t>(config.kv_cache_config.num_blocks)) {}

void ReportTables::apply_to_tables(const CacheEvent& event) {
  tables_.apply(event);
  if (event.kind == CacheEventKind::table_dropped) worker_.drop(event.request);
}

void ReportTables::apply_to_labels(const CacheEvent& event) {
  if (event.block < 0 || static_cast<std::size_t>(event.block) >= labels_.size()) return;
  Label& label = labels_[static_cast<std::size_t>(event.block)];
  if (event.kind == CacheEventKind::registered)
    label = {event.request, event.num_tokens, label.count + 1};
  // With num_tokens the block keeps the hashes of steps before.
  const bool keeps_others = event.kind == CacheEventKind::withdrawn && event.num_tokens > 0;
  if (keeps_others) --label.count;
  if (event.kind == CacheEventKind::evicted ||
      (event.kind == CacheEventKind::withdrawn && (!keeps_others || label.count <= 0)))
    label = {};
}

void ReportTables::note_launch(const CopyLaunch& launch, std::string_view when) {
  for (const StateCopyTrace& copy : launch.copies) {
    const CopyDecisionTrace& made = launch.decisions[static_cast<std::size_t>(copy.decision)];
    const StateCopyDecision& decision = made.decision;
    Place place{copy.group, made.request.value, decision.src_col};
    notes_[place].push_back({kSource, fmt::format("{}: source of the conv window", when)});
    place.column += decision.accept_token_bias;
    notes_[place].push_back({kSource, fmt::format("{}: source of the temporal state", when)});
    place.column = decision.dst_col;
    notes_[place].push_back({kDestination, fmt::format("{}: destination", when)});
  }
}

// Tables are those before the commit, and labels those after it, as the workbench has them.
void ReportTables::take(const StepRecord& record) {
  for (const CacheEvent& event : pending_) apply_to_tables(event);
  for (const CacheEvent& event : record.trace.cache_events) {
    apply_to_tables(event);
    apply_to_labels(event);
  }
  for (const WorkerTableChange& change : record.worker_changes) worker_.apply(change);
  for (const CacheEvent& event : record.trace.commit_events) apply_to_labels(event);
  pending_.assign(record.trace.commit_events.begin(), record.trace.commit_events.end());
  trace_ = &views_.attach(record, worker_);
  notes_.clear();
  note_launch(trace_->pre_copies, "pre-copy");
  note_launch(trace_->post_copies, "post-copy");
  for (const Finding& finding : record.findings)
    notes_[{finding.group, finding.request.value, finding.column}].push_back(
        {kFinding, explain_finding(finding, names_)});
}

ReportCell ReportTables::cell_of(std::int32_t block) const {
  if (block == kNullBlock) return {};
  const Label& label = labels_[static_cast<std::size_t>(block)];
  return {.block = block,
          .num_holders = tables_.holders(block),
          .labelled = label.request,
          .label_tokens = label.num_tokens};
}

ReportTables::Tables ReportTables::cells() const {
  Tables all;
  const std::vector<RequestId> requests = tables_.requests();
  for (std::int32_t group = 0; group < tables_.num_groups(); ++group) {
    std::vector<ShownTable> tables;
    for (const RequestId request : requests) {
      const auto blocks = tables_.block_ids(request, group);
      const auto worker = worker_.block_ids(request, group);
      const bool is_compared =
          !worker.empty() && std::ranges::count(trace_->rows, request, &RowTrace::request) > 0;
      tables.push_back({request, blocks});
      Cells& cells = all[{group, request.value}];
      for (std::size_t column = 0; column < blocks.size(); ++column) {
        cells.push_back(cell_of(blocks[column]));
        const std::int32_t told = column < worker.size() ? worker[column] : kNullBlock;
        if (is_compared && told != blocks[column]) cells.back().worker_block = told;
      }
    }
    const KVCacheGroup& spec = config_.kv_cache_config.groups[static_cast<std::size_t>(group)];
    for (const GroupTrace& traced : trace_->groups) {
      if (traced.group != group) continue;
      for (const UsedCell& used : used_cells({.trace = *trace_,
                                  .group = traced,
                                  .mode = config_.mamba_cache_mode,
                                  .kept = states_kept(spec)},
                                             tables))
        all[{group, tables[used.table].request.value}][static_cast<std::size_t>(used.column)].use =
            used.use;
    }
  }
  const auto at = [&all](const Place& place) -> ReportCell* {
    const auto table = all.find({place.group, place.request});
    const auto column = static_cast<std::size_t>(place.column);
    return table == all.end() || column >= table->second.size() ? nullptr : &table->second[column];
  };
  for (const CacheEvent& event : trace_->cache_events)
    if (event.kind == CacheEventKind::column_set)
      if (ReportCell* cell = at({event.group, event.request.value, event.column}))
        cell->is_changed = true;
  for (const auto& [place, notes] : notes_)
    if (ReportCell* cell = at(place)) cell->has_notes = true;
  for (auto& [table, cells] : all)
    for (ReportCell& cell : cells)
      cell.role = role_of({.block = cell.block,
                           .is_registered = cell.label_tokens > 0,
                           .num_holders = cell.num_holders,
                           .use = cell.use.what});
  return all;
}

std::string ReportTables::text_of(const ReportCell& cell, const Place& place) const {
  const std::int32_t block_size =
      config_.kv_cache_config.groups[static_cast<std::size_t>(place.group)].block_size();
  const bool in_use = cell.role == CellRole::running || cell.role == CellRole::speculative;
  std::string classes = css_word(role_name(cell.role));
  std::string signs(in_use ? 1 : 0, role_letter(cell.role));
  std::string words = fmt::format("column {}, tokens {} to {}\n", place.column,
                                  place.column * block_size, (place.column + 1) * block_size - 1);
  words += cell.block == kNullBlock ? "null block (0)" : fmt::format("block {}", cell.block);
  if (cell.num_holders > 1) words += fmt::format(", held by {} columns", cell.num_holders);
  words += fmt::format("\n{}: {}", role_name(cell.role), role_meaning(cell.role));
  if (!use_words(cell.use).empty()) words += fmt::format("\nin this step: {}", use_words(cell.use));
  if (cell.use.read) signs += "▴";
  if (cell.use.written) signs += "▾";
  if (cell.label_tokens > 0) {
    const std::int32_t inside = cell.label_tokens % block_size;
    const std::string part = inside == 0 ? "" : fmt::format("{}/{}", inside, block_size);
    classes += " labelled";
    signs += "c" + part;
    words += fmt::format("\ncached: stands for the first {} tokens of {}{}", cell.label_tokens,
                         names_.request(cell.labelled),
                         inside == 0 ? "" : ", which end inside the block: " + part);
  }
  if (cell.num_holders > 1) {
    classes += " several";
    signs += fmt::format("×{}", cell.num_holders);
  }
  if (cell.is_changed) {
    classes += " changed";
    words += "\nchanged in this step";
  }
  if (cell.worker_block >= 0)
    words += fmt::format("\nthe worker's table has {} here", cell.worker_block);
  if (cell.has_notes)
    for (const Note& note : notes_.at(place)) {
      if (!signs.ends_with(note.sign)) signs += note.sign;
      if (note.sign == kFinding && !classes.ends_with(" found")) classes += " found";
      words += "\n" + note.words;
    }
  if (!cell.is_changed && !cell.has_notes && !cell.use.read && !cell.use.written)
    classes += " quiet";
  return fmt::format("{}\n{}\n{}\n{}\n{}", classes, signs,
                     cell.worker_block < 0 ? "" : fmt::format("w {}", cell.worker_block),
                     cell.block, words);
}

nlohmann::json ReportTables::changed_cells(SharedTexts& texts) {
  nlohmann::json changed = nlohmann::json::object();
  Tables now = cells();
  for (const auto& [table, told] : told_) now[table];  // tables that are gone are empty
  for (const auto& [table, cells] : now) {
    const Cells& told = told_[table];
    nlohmann::json of_table = nlohmann::json::object();
    for (std::size_t column = 0; column < std::max(cells.size(), told.size()); ++column) {
      const bool is_gone = column >= cells.size();
      // What notes say differs from step to step.
      if (!is_gone && column < told.size() && told[column] == cells[column] &&
          !cells[column].has_notes)
        continue;
      const Place place{table.first, table.second, static_cast<std::int32_t>(column)};
      of_table[std::to_string(column)] =
          is_gone ? nlohmann::json() : texts.add(text_of(cells[column], place));
    }
    if (!of_table.empty())
      changed[std::to_string(table.first)][std::to_string(table.second)] = std::move(of_table);
  }
  std::erase_if(now, [](const auto& table) { return table.second.empty(); });
  told_ = std::move(now);
  return changed;
}

nlohmann::json ReportTables::assumed_groups() const {
  nlohmann::json groups = nlohmann::json::array();
  for (const GroupTrace& group : trace_->groups)
    if (group.is_mamba && replays_stale(*trace_, group)) groups.push_back(group.group);
  return groups;
}

}  // namespace hybridscope
