// A summary of all cells (how many are safe, and where each fault shows) and the page that shows
// it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/matrix/matrix_file.h"

namespace hybridscope {

struct VerdictCounts {
  std::int64_t safe = 0;
  std::int64_t with_findings = 0;
  std::int64_t untested = 0;
  std::int64_t refused = 0;
  std::int64_t same = 0;
  std::int64_t not_run = 0;

  std::int64_t run() const { return safe + with_findings + untested; }
};

// One value of one axis.
struct AxisValueSummary {
  Axis axis{};
  std::size_t value = 0;
  VerdictCounts cells;
};

// A fault and the cells that show it.
struct FaultSummary {
  std::string key = {};
  std::string cause = {};  // empty: nothing explains it
  FindingKind kind = {};
  std::int64_t cells = 0;
  bool accident = false;  // needs several bugs, each of which was found alone (is_accident)
  // "mode align, all; scheduling async": for each axis the values in which the fault shows. Axes in
  // which it shows for all values that were run are left out.
  std::string where = {};
  std::string file = {};          // of its small scenario; empty: none
  std::string no_file = {};       // why it was shrunk and has none
  std::int64_t num_requests = 0;  // of the small scenario
  std::int64_t num_steps = 0;
};

struct MatrixSummary {
  VerdictCounts cells;
  std::vector<AxisValueSummary> values;  // over the cells that were run
  std::vector<FaultSummary> faults;      // by number of cells, most first; accidents last
  EventCounts events = {};
  std::int64_t num_scenarios = 0;
  std::int64_t num_failing = 0;
  std::int64_t num_in_bytes = 0;
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;

  bool all_safe() const { return cells.with_findings + cells.untested + cells.not_run == 0; }
};

// What is said of cells without a finding: "safe"; with fewer scenarios a cell than
// kScenariosPerCell "with no finding in 4".
std::string safe_words(const MatrixHeader& header);

// `cells`: the cells of the matrix; a cell without a result was not run.
MatrixSummary summarize_matrix(const MatrixContents& contents,
                               const std::vector<MatrixCell>& cells);

// A matrix as one self-contained HTML file that opens offline: the faults and where they show, all
// cells, and what hybridscope does not model.

// What the matrix cannot test because hybridscope does not model it.
struct NotModelled {
  std::string_view name;
  std::string_view why;
};

inline constexpr std::array kNotModelled = {
    NotModelled{"connectors",
                "blocks are written by the engine's own frames only; of a KV consumer just its "
                "deferred frees are there"},
    NotModelled{"pipeline parallelism", "one stage; at most one frame is in flight"},
};

struct MatrixPage {
  // Title of a known bug, by id; may be empty.
  std::function<std::string(const std::string&)> title_of = {};
  // Path of a fault's file relative to the page; empty: the page is in the matrix's folder.
  std::function<std::string(const std::string&)> path_of = {};
};

std::string matrix_as_html(const MatrixContents& contents, const std::vector<MatrixCell>& cells,
                           const MatrixPage& page);

}  // namespace hybridscope
