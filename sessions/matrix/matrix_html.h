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
  // Of a known bug's id; may be empty.
  std::function<std::string(const std::string&)> title_of = {};
  // The file of a fault as seen from where the page lies; empty: the page lies in the folder.
  std::function<std::string(const std::string&)> path_of = {};
};

std::string matrix_as_html(const MatrixContents& contents, const std::vector<MatrixCell>& cells,
                           const MatrixPage& page);

}  // namespace hybridscope
