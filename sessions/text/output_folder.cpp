#include "sessions/text/output_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sessions/text/output_file.h"

namespace hybridscope {

namespace fs = std::filesystem;

Result<MadeFolder> MadeFolder::make(const std::string& path) {
  MadeFolder folder(path);
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  std::ranges::reverse(missing);
  for (const fs::path& one : missing)
    if (fs::create_directory(one, error)) folder.made_.push_back(one.string());
  if (fs::is_directory(path, error)) return folder;
  fs::create_directories(path, error);
  return Error{ErrorKind::not_available,
               fmt::format("{}: cannot be made a folder: {}", path,
                           error ? error.message() : std::string("there is a file of that name"))};
}

MadeFolder::~MadeFolder() {
  std::error_code error;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) fs::remove(*made, error);
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  for (const std::string& path : made_) fs::remove(path, error);
}

std::string OutputFolder::path_of(std::string_view name) const {
  return (fs::path(folder_.path()) / name).string();
}

Status OutputFolder::write(std::string_view name, std::string_view text) {
  const std::string path = path_of(name);
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  if (Status written = write_output_file(path, text); !written.ok()) return written;
  if (is_new) made_.push_back(path);
  return Ok{};
}

}  // namespace hybridscope
