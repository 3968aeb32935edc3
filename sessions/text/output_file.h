// A file that is there whole or not at all: written beside its place and moved there at the end.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

class OutputFile {
 public:
  // "-" is standard output; what is no regular file (a pipe, a device) is written to as it goes.
  // Compressed with zstd when the name ends in ".zst". Error not_available: the
  // file cannot be made.
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without finish() nothing is left behind.
  ~OutputFile();

  // Errors here and in finish() are not_available: the disk is full, the reader of a pipe is gone.
  Status write(std::string_view text);
  // Moves the file to its place.
  Status finish();

 private:
  struct Packer;
  OutputFile(std::string path, std::string written, std::FILE* file);
  Status put(std::string_view bytes);
  Error failed() const;

  std::string path_;
  std::string written_;  // its name until finish(); empty: there is nothing to move
  std::FILE* file_ = nullptr;
  std::unique_ptr<Packer> packer_;  // null: not compressed
};

// One text as such a file. Errors: those of OutputFile.
Status write_output_file(const std::string& path, std::string_view text);

}  // namespace hybridscope
