// A report for continuous integration as a file.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hybridscope {

// "-" is standard output. A regular file is written beside the target and renamed, anything else (a
// pipe, a device) is written to. Error io: the file cannot be written.
Status write_report_file(const std::string& path, const std::string& text);

}  // namespace hybridscope
