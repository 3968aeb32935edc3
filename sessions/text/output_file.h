// Writes a file completely or not at all: under a temporary name beside its place, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

class OutputFile {
 public:
  // "-" is standard output, and so is another name of the file or pipe that it goes to. Through a
  // symbolic link the file is replaced that it leads to; the new file has its permission bits.
  // Removes the temporary files of killed programs (PATH.hybridscope-PID.part). What is not a
  // regular file (a pipe, a device) is written directly; waits for the reader of a named pipe.
  // Compressed with zstd when the name ends in ".zst". Error not_available: the file cannot be
  // created, or the program was asked to stop (stop_request.h).
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without finish() nothing is left behind.
  ~OutputFile();

  // Errors here and in finish() are not_available: the disk is full, or the reader of a pipe is
  // gone, or takes nothing when the program was asked to stop.
  Status write(std::string_view text);
  // Renames the file to its final name. Error also: the temporary file was removed or replaced.
  Status finish();

 private:
  struct Packer;
  // A file beside another, whose place it takes in the end.
  struct Replacement {
    std::string part;  // empty: nothing to rename
    std::string target;
  };
  OutputFile(std::string path, Replacement replaces, int descriptor);
  Status put(std::string_view bytes);
  Status flush();

  std::string path_;
  Replacement replaces_;
  int descriptor_ = -1;  // -1: standard output, or closed
  bool is_stdout_ = false;
  std::string buffer_;
  std::unique_ptr<Packer> packer_;  // null: not compressed
};

// Writes one text with an OutputFile. Errors: those of OutputFile.
Status write_output_file(const std::string& path, std::string_view text);

}  // namespace hybridscope
