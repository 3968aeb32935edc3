#include "sessions/weights/shipped_model.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

namespace hybridscope {

namespace fs = std::filesystem;

Result<std::string> find_shipped_model() {
  std::error_code error;
  if (fs::is_directory(kShippedModel, error)) return std::string(kShippedModel);
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); !error && !folder.empty();
       folder = folder.parent_path()) {
    for (const fs::path& base : {folder, folder / "share/hybridscope"})
      if (std::error_code none; fs::is_directory(base / kShippedModel, none))
        return (base / kShippedModel).string();
    if (folder == folder.root_path()) break;
  }
  return Error{
      ErrorKind::not_found,
      fmt::format("there is no folder {} here, beside the program or in a folder above it; "
                  "name the model's with --weights DIR",
                  kShippedModel)};
}

}  // namespace hybridscope
