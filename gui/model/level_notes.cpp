#include "gui/model/level_notes.h"

#include <fmt/core.h>

namespace hybridscope {

std::string not_kept(const ShownRun& run, std::string_view what) {
  if (run.level() != RecordLevel::counts) return {};
  return fmt::format("The session keeps no {}: it was recorded at level {}.", what,
                     record_level_name(run.level()));
}

std::string contents_not_kept(const ShownRun& run) {
  if (run.level() != RecordLevel::blocks) return {};
  return fmt::format(
      "The session does not keep what blocks hold: it was recorded at level {}. Cells with a dash "
      "are not known to be written, and running and speculative blocks look like held ones.",
      record_level_name(run.level()));
}

}  // namespace hybridscope
