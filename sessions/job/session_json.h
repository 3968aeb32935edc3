// Session files as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "storage/session_file.h"
#include "storage/session_query.h"

namespace hybridscope {

// An element of `sessions list --json`.
nlohmann::ordered_json session_to_json(const SessionInfo& info);

// Behind the text of a cell that was cut: "... (12,345,678 bytes)".
std::string cut_mark(const CutText& cut);

// A value of `sessions query --json`; of a blob {blob_bytes}.
nlohmann::ordered_json query_value_to_json(const QueryValue& value);

}  // namespace hybridscope
