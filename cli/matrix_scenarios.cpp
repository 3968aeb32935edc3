#include "cli/matrix_scenarios.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sessions/scenario/scenario_writer.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

std::string file_name(const MatrixCell& cell, std::int64_t index) {
  std::string name = cell_name(cell);
  std::ranges::replace(name, '/', '-');
  return fmt::format("{}-{}.json", name, index);
}

}  // namespace

Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return Error{ErrorKind::not_available,
                 fmt::format("{} cannot be made: {}", folder, failed.message())};
  std::int64_t count = 0;
  for (const MatrixCell& cell : options.cells) {
    if (!is_run(cell)) continue;
    for (std::int64_t index = 0; index < options.run.num_scenarios; ++index) {
      if (options.run.go_on && !options.run.go_on()) return count;
      const std::string path = (std::filesystem::path(folder) / file_name(cell, index)).string();
      const std::string text = write_scenario(scenario_of_cell(cell, index, options.run));
      if (Status written = write_output_file(path, text); !written.ok()) return written.error();
      ++count;
    }
  }
  return count;
}

}  // namespace hybridscope
