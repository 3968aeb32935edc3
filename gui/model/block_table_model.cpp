#include "gui/model/block_table_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "gui/model/block_verdict.h"
#include "gui/model/stale_replay.h"
#include "sessions/explain/forward_rows.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

class GridMaker {
 public:
  GridMaker(ShownRun& run, const BlockTablesOptions& options)
      : run_(run), view_(run.view()), verdicts_(run), options_(options) {}

  BlockTableModel make() {
    BlockTableModel model;
    const std::vector<RequestId> requests =
        shows_worker() ? view_.worker_tables.requests() : view_.scheduler_tables.requests();
    for (std::int32_t group = 0; group < view_.scheduler_tables.num_groups(); ++group)
      model.grids.push_back(make_grid(group, requests));
    model.complete = complete_;
    return model;
  }

  BlockTableGrid make_row(RequestId request, std::int32_t group) {
    const auto requests =
        shows_worker() ? view_.worker_tables.requests() : view_.scheduler_tables.requests();
    if (std::ranges::find(requests, request) == requests.end()) return make_grid(group, {});
    return make_grid(group, std::span(&request, 1));
  }

  BlockCell make_cell(std::int32_t block, std::int32_t group) {
    BlockCell cell{.block = block};
    describe(cell, /*is_stale=*/false, {group, kNoColumn});
    return cell;
  }

 private:
  bool shows_worker() const { return options_.side == TableSide::worker; }
  std::span<const std::int32_t> ids_of(RequestId request, std::int32_t group) const {
    return shows_worker() ? view_.worker_tables.block_ids(request, group)
                          : view_.scheduler_tables.block_ids(request, group);
  }

  BlockTableGrid make_grid(std::int32_t group, std::span<const RequestId> requests) {
    const KVCacheGroup& spec = view_.config.kv_cache_config.groups[static_cast<std::size_t>(group)];
    BlockTableGrid grid;
    grid.group = group;
    grid.is_mamba = spec.is_mamba();
    grid.name = view_.names.group(group);
    grid.block_size = spec.block_size();
    for (const RequestId request : requests) add_row(grid, request);
    grid.cells.resize(grid.rows.size() * static_cast<std::size_t>(grid.num_columns));
    rows_.clear();
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      rows_[grid.rows[row].request] = row;
      fill_row(grid, row);
    }
    mark_hits(grid);
    mark_live(grid);
    mark_changed(grid);
    return grid;
  }

  void add_row(BlockTableGrid& grid, RequestId request) const {
    BlockTableRow row;
    row.request = request;
    row.name = view_.names.request(request);
    row.num_columns = static_cast<std::int32_t>(ids_of(request, grid.group).size());
    const auto in_batch = std::ranges::find(view_.trace.rows, request, &RowTrace::request);
    if (in_batch != view_.trace.rows.end())
      row.batch_row = static_cast<std::int32_t>(in_batch - view_.trace.rows.begin());
    grid.num_columns = std::max(grid.num_columns, row.num_columns);
    grid.rows.push_back(std::move(row));
  }

  void fill_row(BlockTableGrid& grid, std::size_t row) {
    const RequestId request = grid.rows[row].request;
    const auto ids = ids_of(request, grid.group);
    const auto scheduled = view_.scheduler_tables.block_ids(request, grid.group);
    for (std::size_t column = 0; column < ids.size(); ++column) {
      BlockCell& cell = grid.cells[row * static_cast<std::size_t>(grid.num_columns) + column];
      cell.block = ids[column];
      const bool is_stale =
          shows_worker() && (column >= scheduled.size() || scheduled[column] != cell.block);
      describe(cell, is_stale, {grid.group, static_cast<std::int32_t>(column)});
    }
  }

  static constexpr std::int32_t kNoColumn = -1;
  struct Place {
    std::int32_t group = -1;
    std::int32_t column = kNoColumn;
  };

  void describe(BlockCell& cell, bool is_stale, const Place& place) {
    cell.role = is_stale ? CellRole::stale : CellRole::null_block;
    if (cell.block <= kNullBlock || cell.block >= view_.scheduler_tables.num_blocks()) return;
    const BlockFacts facts = run_.block_facts(cell.block);
    complete_ = complete_ && facts.label_known && facts.writes_known;
    cell.state = verdicts_.of(cell.block, facts, place.group).state;
    if (is_stale) return;
    mark_end(cell, facts, place);
    cell.role = facts.registered ? CellRole::cached : CellRole::held;
    if (view_.scheduler_tables.holders(cell.block) > 1) cell.role = CellRole::shared;
  }

  // Where the registered prefix ends, and whether a prefill stored the state on its way. A
  // checkpoint can belong to a prefix that ends behind its column.
  void mark_end(BlockCell& cell, const BlockFacts& facts, const Place& place) const {
    const KVCacheGroup& spec =
        view_.config.kv_cache_config.groups[static_cast<std::size_t>(place.group)];
    cell.block_size = spec.block_size();
    const bool ends_here =
        place.column == kNoColumn || facts.partial_num_tokens / cell.block_size == place.column;
    if (facts.label_group == place.group && ends_here)
      cell.partial_tokens = facts.partial_num_tokens % cell.block_size;
    if (!spec.is_mamba()) return;
    cell.checkpoint = facts.checkpoint;
    const std::int64_t stored_in =
        facts.writes_known ? facts.temporal.event.step : facts.registered_in;
    cell.written = cell.checkpoint > 0 && stored_in == view_.trace.step;
  }

  // Hits of the step that end inside a block.
  void mark_hits(BlockTableGrid& grid) const {
    for (const AdmissionLookup& lookup : view_.trace.lookups) {
      const std::int32_t inside = lookup.num_hit_tokens % grid.block_size;
      BlockCell* cell = lookup.admitted && inside > 0
                            ? cell_at(grid, lookup.request, lookup.num_hit_tokens / grid.block_size)
                            : nullptr;
      if (cell != nullptr && cell->block > kNullBlock && cell->partial_tokens == 0)
        cell->partial_tokens = inside;
    }
  }

  // Null: the table has no such cell.
  BlockCell* cell_at(BlockTableGrid& grid, RequestId request, std::int32_t column) const {
    const auto row = rows_.find(request);
    if (row == rows_.end() || column < 0 || column >= grid.rows[row->second].num_columns)
      return nullptr;
    return &grid.cells[row->second * static_cast<std::size_t>(grid.num_columns) +
                       static_cast<std::size_t>(column)];
  }

  enum class Use { read, written };
  void mark(BlockTableGrid& grid, std::int32_t batch_row, std::int32_t column, CellRole role,
            Use use) const {
    if (batch_row < 0 || static_cast<std::size_t>(batch_row) >= view_.trace.rows.size()) return;
    const RequestId request = view_.trace.rows[static_cast<std::size_t>(batch_row)].request;
    BlockCell* cell = cell_at(grid, request, column);
    if (cell == nullptr || cell->block <= kNullBlock) return;
    (use == Use::read ? cell->read : cell->written) = true;
    if (cell->role != CellRole::stale) cell->role = role;
  }

  // Columns that the step works on. The state is read from one and written to one or more, possibly
  // the same: with drafts it is read after the last accepted token of the step before.
  void mark_live(BlockTableGrid& grid) const {
    for (const GroupTrace& group : view_.trace.groups) {
      if (group.group != grid.group) continue;
      grid.is_assumed = replays_stale(view_.trace, group);
      for (const AttentionWrite& write : group.attention_writes)
        mark(grid, write.row, write.column, CellRole::running, Use::written);
      if (!group.is_mamba) continue;
      for (const ForwardPlaces& row :
           forward_rows(view_.trace, group, view_.config.mamba_cache_mode)) {
        for (std::size_t token = row.targets.size(); token-- > 1;)
          mark(grid, row.row, row.targets[token].column, CellRole::speculative, Use::written);
        if (!row.targets.empty())
          mark(grid, row.row, row.targets[0].column, CellRole::running, Use::written);
        if (row.has_initial_state)
          mark(grid, row.row, row.temporal_source.column, CellRole::running, Use::read);
      }
    }
  }

  void mark_changed(BlockTableGrid& grid) const {
    const auto change = [&](RequestId request, std::int32_t group, std::int32_t column) {
      if (group != grid.group) return;
      if (BlockCell* cell = cell_at(grid, request, column)) cell->changed = true;
    };
    if (shows_worker()) {
      for (const WorkerTableChange& changed : view_.worker_changes)
        change(changed.request, changed.group, changed.column);
      return;
    }
    for (const CacheEvent& event : view_.trace.cache_events)
      if (event.kind == CacheEventKind::column_set)
        change(event.request, event.group, event.column);
  }

  ShownRun& run_;
  StepView view_;
  BlockVerdicts verdicts_;
  BlockTablesOptions options_;
  std::map<RequestId, std::size_t> rows_;  // of the current grid
  bool complete_ = true;
};

}  // namespace

std::string grid_words(const BlockTableGrid& grid) {
  return fmt::format("{} a block, {} x {}{}", counted(grid.block_size, "token"),
                     counted(static_cast<std::int64_t>(grid.rows.size()), "request"),
                     counted(grid.num_columns, "column"),
                     grid.is_assumed ? "; reads and writes are assumed: stale replay" : "");
}

std::string_view side_words(TableSide side) {
  return side == TableSide::worker
             ? "The block tables of the worker, which only appends: what the layers are given"
             : "The block tables of the scheduler: which blocks it has given to each request";
}

BlockTableModel make_block_table_model(ShownRun& run, const BlockTablesOptions& options) {
  return GridMaker(run, options).make();
}

BlockCell make_block_cell(ShownRun& run, std::int32_t block, std::int32_t group) {
  return GridMaker(run, {}).make_cell(block, group);
}

BlockTableGrid make_block_table_row(ShownRun& run, const BlockTablesOptions& options,
                                    RequestId request, std::int32_t group) {
  return GridMaker(run, options).make_row(request, group);
}

}  // namespace hybridscope
