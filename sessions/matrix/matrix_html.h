// A matrix as one self-contained HTML file that opens offline: the faults and where they show, all
// cells, and what hybridscope does not model.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"

namespace hybridscope {

// What the matrix cannot test because hybridscope does not model it.
struct NotModelled {
  std::string_view name;
  std::string_view why;
};

inline constexpr std::array kNotModelled = {
    NotModelled{"connectors",
                "blocks are written by the engine's own frames only; of a KV consumer "
                "just its deferred frees are there"},
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
