#include "gui/model/block_table_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "gui/model/block_verdict.h"
#include "gui/model/shown_run.h"
#include "gui/model/workbench.h"
#include "sessions/explain/cell_role.h"
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
    const CellFacts facts = describe(cell, /*is_stale=*/false, {group, kNoColumn});
    cell.role = role_of(facts);
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
    facts_.assign(grid.cells.size(), {});
    rows_.clear();
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      rows_[grid.rows[row].request] = row;
      fill_row(grid, row);
    }
    mark_hits(grid);
    mark_used(grid);
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
      const std::size_t index = row * static_cast<std::size_t>(grid.num_columns) + column;
      BlockCell& cell = grid.cells[index];
      cell.block = ids[column];
      const bool is_stale =
          shows_worker() && (column >= scheduled.size() || scheduled[column] != cell.block);
      facts_[index] = describe(cell, is_stale, {grid.group, static_cast<std::int32_t>(column)});
    }
  }

  static constexpr std::int32_t kNoColumn = -1;
  struct Place {
    std::int32_t group = -1;
    std::int32_t column = kNoColumn;
  };

  // All but the cell's role and use; returns what its role follows from.
  CellFacts describe(BlockCell& cell, bool is_stale, const Place& place) {
    CellFacts known{.is_stale = is_stale};
    if (cell.block <= kNullBlock || cell.block >= view_.scheduler_tables.num_blocks()) return known;
    const BlockFacts facts = run_.block_facts(cell.block);
    complete_ = complete_ && facts.label_known && facts.writes_known;
    cell.state = verdicts_.of(cell.block, facts, place.group).state;
    if (!is_stale) mark_end(cell, facts, place);
    known.block = cell.block;
    known.is_registered = facts.registered;
    known.num_holders = view_.scheduler_tables.holders(cell.block);
    return known;
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
    if (spec.is_mamba()) cell.checkpoint = facts.checkpoint;
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

  // The cell of a request's column; null: the table has no such cell.
  BlockCell* cell_at(BlockTableGrid& grid, RequestId request, std::int32_t column) const {
    const auto row = rows_.find(request);
    if (row == rows_.end() || column < 0 || column >= grid.rows[row->second].num_columns)
      return nullptr;
    return &grid.cells[row->second * static_cast<std::size_t>(grid.num_columns) +
                       static_cast<std::size_t>(column)];
  }

  // What the step does with the cells, and their roles.
  void mark_used(BlockTableGrid& grid) {
    std::vector<ShownTable> tables;
    for (const BlockTableRow& row : grid.rows)
      tables.push_back({row.request, ids_of(row.request, grid.group)});
    const KVCacheGroup& spec =
        view_.config.kv_cache_config.groups[static_cast<std::size_t>(grid.group)];
    for (const GroupTrace& group : view_.trace.groups) {
      if (group.group != grid.group) continue;
      grid.is_assumed = replays_stale(view_.trace, group);
      for (const UsedCell& used : used_cells({.trace = view_.trace,
                                  .group = group,
                                  .mode = view_.config.mamba_cache_mode,
                                  .kept = states_kept(spec)},
                                             tables)) {
        const std::size_t index = used.table * static_cast<std::size_t>(grid.num_columns) +
                                  static_cast<std::size_t>(used.column);
        grid.cells[index].use = used.use;
        facts_[index].use = used.use.what;
      }
    }
    for (std::size_t i = 0; i < grid.cells.size(); ++i) grid.cells[i].role = role_of(facts_[i]);
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
  std::vector<CellFacts> facts_;           // of its cells
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

namespace {

// Requests down, columns across, block ids in the cells.
Table grid_table(const BlockTableGrid& grid) {
  Table table{.title = grid.name, .note = grid_words(grid), .headings = {"Request"}};
  for (std::int32_t column = 0; column < grid.num_columns; ++column)
    table.headings.push_back(fmt::format("{}", column));
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    auto& cells = table.rows.emplace_back().cells;
    cells.push_back(words_cell(grid.rows[row].name));
    for (std::int32_t column = 0; column < grid.num_columns; ++column)
      cells.push_back(known_cell(grid.at(row, column).block));
  }
  return table;
}

// Does the cell have more than a block? Most cells of a long table are only cached or held.
bool has_more(const BlockCell& cell) {
  return cell.changed || cell.state == CellState::wrong || cell.use != CellUse{} ||
         cell.role == CellRole::stale || cell.partial_tokens > 0 || cell.checkpoint > 0;
}

Table cells_table(const BlockTableGrid& grid) {
  Table table{.title = grid.name + ": cells with a part in the step, or a special end",
              .headings = {"Request", "Column", "Block", "Role", "State", "Changed",
                           "Prefix ends at", "Checkpoint"}};
  for (std::size_t row = 0; row < grid.rows.size(); ++row)
    for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column) {
      const BlockCell& cell = grid.at(row, column);
      if (!has_more(cell)) continue;
      table.rows.push_back({words_cell(grid.rows[row].name), number_cell(column),
                            known_cell(cell.block), words_cell(role_name(cell.role)),
                            words_cell(state_name(cell.state)), flag_cell(cell.changed),
                            cell.partial_tokens > 0 ? words_cell(partial_words(cell)) : TableCell(),
                            cell.checkpoint > 0 ? number_cell(cell.checkpoint) : TableCell()});
    }
  return table;
}

}  // namespace

Picture block_tables_picture(Workbench& workbench) {
  const BlockTablesOptions& options = workbench.options().block_tables;
  if (const std::string lacks = not_kept(*workbench.run(), "block tables"); !lacks.empty())
    return {.notes = {lacks}};
  Picture content;
  add_note(content, side_words(options.side));
  if (const std::string lacks = contents_not_kept(*workbench.run()); !lacks.empty())
    add_note(content, lacks);
  for (const BlockTableGrid& grid : make_block_table_model(*workbench.run(), options).grids) {
    content.tables.push_back(grid_table(grid));
    if (grid.rows.empty() || grid.num_columns == 0)
      content.tables.back().note = kEmptyGrid;
    else
      content.tables.push_back(cells_table(grid));
  }
  return content;
}

}  // namespace hybridscope
