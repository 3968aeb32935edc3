// Folders that nothing is left of when what they are for fails.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

class MadeFolder {
 public:
  // With the folders that lead to it. Error not_available: it cannot be made, or is a file.
  static Result<MadeFolder> make(const std::string& path);
  MadeFolder(MadeFolder&&) noexcept = default;
  MadeFolder& operator=(MadeFolder&&) = delete;
  // Without keep() those of the folders it made that are empty are removed.
  ~MadeFolder();
  // Returns the folders it made, the outermost first.
  std::vector<std::string> keep() { return std::exchange(made_, {}); }

  const std::string& path() const { return path_; }

 private:
  explicit MadeFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<std::string> made_;  // the outermost first
};

// Files that are written all or not at all.
class OutputFolder {
 public:
  explicit OutputFolder(MadeFolder folder) : folder_(std::move(folder)) {}
  OutputFolder(OutputFolder&&) noexcept = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  // Without keep() the files that write() made are removed. Files that it replaced stay.
  ~OutputFolder();

  std::string path_of(std::string_view name) const;
  // Errors: those of OutputFile.
  Status write(std::string_view name, std::string_view text);
  void keep() {
    made_.clear();
    folder_.keep();
  }

 private:
  MadeFolder folder_;
  std::vector<std::string> made_;  // paths
};

}  // namespace hybridscope
