#include "gui/model/temporary_folder.h"

#include <fmt/core.h>

#include <cstdlib>
#include <system_error>

namespace hybridscope {

Result<std::shared_ptr<TemporaryFolder>> TemporaryFolder::make() {
  std::error_code failure;
  const std::filesystem::path base = std::filesystem::temp_directory_path(failure);
  std::string name = (base / "hybridscope-XXXXXX").string();
  if (failure || ::mkdtemp(name.data()) == nullptr)
    return Error{ErrorKind::io, fmt::format("{}: no folder can be made there", base.string())};
  return std::shared_ptr<TemporaryFolder>(new TemporaryFolder(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hybridscope
