// The lines of matrix.jsonl and their values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/matrix/matrix_file.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

nlohmann::ordered_json header_to_json(const MatrixHeader& header);
nlohmann::ordered_json cell_to_json(const CellResult& cell);
nlohmann::ordered_json fault_to_json(const MatrixFault& fault);

// A JsonFault says what is wrong.
MatrixHeader header_of_json(const JsonValue& place);
CellResult cell_of_json(const JsonValue& place);
MatrixFault fault_of_json(const JsonValue& place);

}  // namespace hybridscope
