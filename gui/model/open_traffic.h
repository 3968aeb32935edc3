// Opens a file of traffic (Mooncake format) as a live run by the settings that nobody changed.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// Is the file's first line a request of traffic? False where it cannot be read.
bool is_traffic(const std::string& path);

Result<std::unique_ptr<ShownRun>> open_traffic(const std::string& path);

}  // namespace hybridscope
