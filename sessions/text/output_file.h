// Writes a file completely or not at all: under a temporary name beside its place, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

class OutputFile {
 public:
  // "-" is standard output. What is not a regular file (a pipe, a device) is written directly;
  // waits for the reader of a named pipe. Compressed with zstd when the name ends in ".zst". Error
  // not_available: the file cannot be created, or the program was asked to stop (stop_request.h).
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without finish() nothing is left behind.
  ~OutputFile();

  // Errors here and in finish() are not_available: the disk is full, or the reader of a pipe is
  // gone, or takes nothing when the program was asked to stop.
  Status write(std::string_view text);
  // Renames the file to its final name.
  Status finish();

 private:
  struct Packer;
  OutputFile(std::string path, std::string written, int descriptor);
  Status put(std::string_view bytes);
  Status flush();

  std::string path_;
  std::string written_;  // temporary name until finish(); empty: nothing to rename
  int descriptor_ = -1;  // -1: standard output, or closed
  bool is_stdout_ = false;
  std::string buffer_;
  std::unique_ptr<Packer> packer_;  // null: not compressed
};

// Writes one text with an OutputFile. Errors: those of OutputFile.
Status write_output_file(const std::string& path, std::string_view text);

}  // namespace hybridscope
