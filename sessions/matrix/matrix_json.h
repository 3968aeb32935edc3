// The lines of matrix.jsonl and their values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/matrix/matrix_file.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

nlohmann::ordered_json header_to_json(const MatrixHeader& header);
nlohmann::ordered_json cell_to_json(const CellResult& cell);
nlohmann::ordered_json fault_to_json(const MatrixFault& fault);

// The readers report to `errors` and return empty values after an error.
MatrixHeader header_of_json(const JsonPlace& place, JsonErrors& errors);
CellResult cell_of_json(const JsonPlace& place, JsonErrors& errors);
MatrixFault fault_of_json(const JsonPlace& place, JsonErrors& errors);

}  // namespace hybridscope
