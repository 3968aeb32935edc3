// What a step's forward pass does in the cells of block tables, and which role a cell has in the
// step: one answer for the workbench, its pages and reports, and the same that --explain says in
// words. It follows from what the layers were given (forward_rows) and from the tables, not from
// where a state should be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {

enum class CellRole : std::uint8_t {
  running,      // mamba: the state is read or written here in this step; attention: keys and values
  speculative,  // mamba: states of drafts, one per column after the running one
  cached,       // registered: other requests can hit it
  shared,       // held by more than one table
  held,         // the request's; it is not registered
  null_block,   // block 0
  free_block,   // held by no table, and a prefix hit would not find it
  stale,        // the worker's table has a different block here than the scheduler's
  padding,      // of a padding row, or slot -1
};
inline constexpr std::size_t kNumCellRoles = 9;

// "running", "null block".
std::string_view role_name(CellRole role);
// The letter that stands for it where there is no colour.
char role_letter(CellRole role);
// For legends: what the role means, in a sentence.
std::string_view role_meaning(CellRole role);

enum class ForwardUse : std::uint8_t {
  none,
  keys,     // attention: keys and values are written
  running,  // a row starts from the state here, or leaves the one behind its first token
  draft,    // the state behind a draft is left here
  passed,   // a prefill leaves a state here and runs on
  padding,  // a row without a request folds a placeholder into the state here
};

struct CellUse {
  ForwardUse what = ForwardUse::none;
  // Recurrent states where the group's layers keep them, else conv windows; keys and values are not
  // said to be read.
  bool read = false;
  bool written = false;
  friend bool operator==(const CellUse&, const CellUse&) = default;
};

// "the state is read here, then one is written"; empty: nothing happens here.
std::string_view use_words(const CellUse& use);

struct CellFacts {
  std::int32_t block = kNullBlock;
  bool is_stale = false;         // in the worker's table
  bool is_registered = false;    // false also where that is not known
  std::int32_t num_holders = 1;  // columns of the scheduler's tables with this block
  ForwardUse use = ForwardUse::none;
};
CellRole role_of(const CellFacts& facts);

// One request's table in a group.
struct ShownTable {
  RequestId request{};
  std::span<const std::int32_t> blocks{};  // [columns]
};
struct UsedCell {
  std::size_t table = 0;
  std::int32_t column = 0;
  CellUse use{};
};
struct ForwardOfGroup {
  const StepTrace& trace;
  const GroupTrace& group;
  MambaCacheMode mode = MambaCacheMode::none;
  StatesKept kept{};  // by the group's layers
};

// The cells of the tables that the step uses, each once, in their order. A block that the step uses
// and that is not in the column where the row has it is looked for in the row's own table, then in
// the others. Nothing where the trace has no metadata.
std::vector<UsedCell> used_cells(const ForwardOfGroup& in, std::span<const ShownTable> tables);

}  // namespace hybridscope
