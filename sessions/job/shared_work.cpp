#include "sessions/job/shared_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "sessions/job/version.h"
#include "sessions/text/program_digest.h"

namespace hybridscope {

Result<std::string> this_program() {
  const auto digest = program_digest();
  if (!digest.ok()) return digest.error();
  return fmt::format("hybridscope {} (build {})", kVersion, digest.value());
}

std::int32_t num_threads_for(std::int32_t jobs) {
  if (jobs > 0) return jobs;
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace hybridscope
