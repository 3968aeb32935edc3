#include "gui/model/file_job.h"

#include <fmt/core.h>

#include "sessions/text/number_words.h"

namespace hybridscope {

Result<bool> advance_job(FileJob& job, const JobSlice& slice) {
  const std::int64_t start = slice.clock_us();
  do {
    const auto more = job.step();
    if (!more.ok() || !more.value()) return more;
  } while (slice.clock_us() - start < slice.budget_us);
  return true;
}

std::string progress_words(const FileJob& job) {
  return fmt::format("writing {}: step {} of {}", job.path(), grouped_number(job.num_done()),
                     grouped_number(job.num_steps()));
}

}  // namespace hybridscope
