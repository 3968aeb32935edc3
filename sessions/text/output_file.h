// Writes a file completely or not at all: under a temporary name beside its place, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// Writes to files, pipes and devices; a reader that takes nothing holds the program only until it
// is asked to stop (input_file.h).

// Opens for writing what `path` names, made or emptied. Waits for somebody who reads a named pipe.
// -1: errno says why; EINTR: the program was asked to stop.
int open_to_write(const std::string& path);

// Writes all of `bytes`. Returns 0 or the system's error number. EINTR: the program was asked to
// stop, and the other end of a pipe has taken nothing for a second since.
int write_bytes(int descriptor, std::string_view bytes);

// "No space left on device"; for EINTR "interrupted".
std::string write_error_words(int error);

class OutputFile {
 public:
  // "-" is standard output, and so is another name of the file or pipe that it goes to. Through a
  // symbolic link the file is replaced that it leads to; the new file has its permission bits.
  // Removes the temporary files of killed programs (PATH.hybridscope-PID.part). What is not a
  // regular file (a pipe, a device) is written directly; waits for the reader of a named pipe.
  // Compressed with zstd when the name ends in ".zst". Error not_available: the file cannot be
  // created, or the program was asked to stop (input_file.h).
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without finish() nothing is left behind.
  ~OutputFile();

  // Errors here and in finish() are not_available: the disk is full, or the reader of a pipe is
  // gone, or takes nothing when the program was asked to stop.
  Status write(std::string_view text);
  // Writes the rest and renames the file to its final name. Error also: the temporary file was
  // removed or replaced.
  Status finish(std::string_view rest = {});

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

// Folders that nothing is left of when what they are for fails.

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
