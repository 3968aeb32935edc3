// A folder for files that are only kept while they are shown.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

// Deletes the folder with all that is in it.
class TemporaryFolder {
 public:
  // In the system's folder for temporary files. Error io: none can be made there.
  static Result<std::shared_ptr<TemporaryFolder>> make();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace hybridscope
