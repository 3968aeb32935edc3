// What a start-up log says beside what is planned for the same start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sessions/startup/cached_layers.h"
#include "sessions/startup/startup_log.h"

namespace hybridscope {

enum class Agreement : std::uint8_t { agrees, differs, not_in_log };

std::string_view agreement_name(Agreement agreement);  // "agree", "differ", "not in the log"

struct LogRow {
  std::string what = {};
  std::string in_log = {};
  std::string ours = {};
  Agreement agreement = Agreement::agrees;
};

struct LogComparison {
  std::vector<LogRow> rows = {};
  std::vector<std::string> notes = {};
  // The memory of the plan; 0: the log tells neither memory nor what it follows from.
  std::int64_t kv_cache_memory_bytes = 0;
  const Gpu* gpu = nullptr;

  std::int64_t differences() const;
};

// `settings`: release, flags, and the GPU if it is known. Without one it is the first with which
// the fewest rows differ. Memory is the log's; "GiB" in a log are rounded to two digits, so figures
// agree that follow from any number of bytes that is rounded so. Where the log has tokens and no
// memory, it is what gives exactly these tokens.
LogComparison compare_log(const StartupLog& log, const StartupModel& model,
                          StartupSettings settings);

}  // namespace hybridscope
