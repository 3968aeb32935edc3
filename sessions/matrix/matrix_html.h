// A matrix as one HTML file that opens anywhere, offline: the faults and where they show, then
// every cell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"

namespace hybridscope {

struct MatrixPage {
  std::function<std::string(const std::string&)> title_of =
      {};                   // of a known bug's id; may be empty
  std::string folder = {};  // of the matrix, as the page can link to it; empty: the page lies there
};

std::string matrix_as_html(const MatrixContents& contents, const std::vector<MatrixCell>& cells,
                           const MatrixPage& page);

}  // namespace hybridscope
