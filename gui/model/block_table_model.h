// The block tables of a step as grids of cells, one grid per KV cache group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/block_cell.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

struct BlockTableRow {
  RequestId request{};
  std::string name;
  std::int32_t batch_row = -1;  // -1: not in this step's batch
  std::int32_t num_columns = 0;
};

struct BlockTableGrid {
  std::int32_t group = -1;
  bool is_mamba = false;
  std::string name;  // "group 1 (mamba2)"
  std::int32_t block_size = 0;
  std::int32_t num_columns = 0;  // the longest row's
  bool is_assumed = false;       // reads and writes here are assumed: the graph was a stale replay
  std::vector<BlockTableRow> rows;
  std::vector<BlockCell> cells;  // [rows * num_columns]

  const BlockCell& at(std::size_t row, std::int32_t column) const {
    return cells[row * static_cast<std::size_t>(num_columns) + static_cast<std::size_t>(column)];
  }
};

struct BlockTableModel {
  std::vector<BlockTableGrid> grids;
  // False: a session is still being read, and some cells' content is not known yet.
  bool complete = true;
};

// Every request that has a table. Requires: run.step() > 0.
BlockTableModel make_block_table_model(ShownRun& run, const BlockTablesOptions& options);

// "8 tokens a block, 1 request x 2 columns".
std::string grid_words(const BlockTableGrid& grid);
inline constexpr std::string_view kEmptyGrid = "no request has blocks here";
// Whose tables they are.
std::string_view side_words(TableSide side);

// The grid of one request in one group; without rows when it has no table there.
BlockTableGrid make_block_table_row(ShownRun& run, const BlockTablesOptions& options,
                                    RequestId request, std::int32_t group);

// A block on its own, in no request's table: its role, content and end. `group`: whose content it
// has. Requires: it is of the pool.
BlockCell make_block_cell(ShownRun& run, std::int32_t block, std::int32_t group);

// The tooltip of a cell.
struct CellPlace {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;
  TableSide side = TableSide::scheduler;
};
std::vector<Fact> describe_cell(ShownRun& run, const CellPlace& place, const BlockCell& cell);

// What the panel shows. Requires: a step is shown.
Picture block_tables_picture(Workbench& workbench);

}  // namespace hybridscope
